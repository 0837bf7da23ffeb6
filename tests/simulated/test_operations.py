"""Every step of every move fails, is repeated, is undone twice, or its host dies.

Whatever it is, the server is usable a minute later: at rest, on one host, where its guest runs. And
in the end, when the host is back, nothing is left. See ``tests/simulation``.
"""

import pytest

from roost import states
from roost.operations import kinds
from tests.parts import second
from tests.simulated.test_steps import BEGIN, boot, way_to
from tests.simulation.fault_model import Calm
from tests.simulation.scenarios import Reef, User, in_order
from tests.simulation.simulated_cloud import ADMIN, World
from tests.simulation.step_faults import MISHAPS, Runner, happening_in_moves
from tests.simulation.system_state import Truth

pytestmark = pytest.mark.timeout(3600)  # they run where nothing else wants to
WITHIN = 60.0  # seconds
GONE = "is gone for good"


def cases():
    """Yield each kind of move with each of its steps, the step that fails before it, and mishaps.

    A resize has the steps of a migration: it is a part of the soak.
    """
    for kind in kinds.KINDS.values():
        for step in kind.steps if kind.is_move else ():
            for mishap in (*MISHAPS, GONE):
                if step.undo is not None or mishap != "is undone twice":
                    yield kind, step.name, None, mishap
                if step.undo is not None and mishap != "is undone twice":
                    yield kind, step.undo.name, step.name, mishap


@pytest.mark.parametrize(
    "case",
    [second(case) if case[0] is kinds.RESIZE else case for case in cases()],
    ids=lambda case: "-".join(map(str, case)),
)
def test_a_minute_after_a_mishap_in_its_move_a_server_is_usable(case):
    kind, step, failing, mishap = case
    runner = Runner(step, mishap)
    before = [Runner(failing, "fails after")] if failing else []
    with World(0, Calm()) as world, happening_in_moves(*before, runner):
        dead = []
        world.on_death = dead.append if mishap == GONE else lambda one: revive(world, one.name)
        world.start()
        world.loop.run(world.loop.now + 2.5)
        user = User(world, Reef())
        world.do(lambda: begin(kind, user))
        run_until(world, lambda: runner.happened)
        assert runner.happened
        for one in dead:
            world.do(lambda host=one.name: force_down(world, host))
        run_until(world, lambda: is_usable(world, dead))
        assert is_usable(world, dead), list(map(str, Truth(world).named("server0")))
        for one in dead:
            world.start(one.name)
            world.do(lambda host=one.name: force_down(world, host, is_down=False))
        assert list(in_order(world, user)) == []


def begin(kind, user):
    boot(user)
    if (way := way_to(kind)) is not None:
        BEGIN[way](user)
        user.wait_for("server0", kind.begins[0])
    BEGIN[kind](user)


def run_until(world, is_so):
    until = world.loop.now + WITHIN
    while not is_so() and world.loop.now < until:
        world.loop.run(world.loop.now + 0.5)


def revive(world, name):
    world.loop.after(1.0, lambda: world.start(name))


def force_down(world, host, *, is_down=True):
    body = {"host": host, "binary": "nova-compute", "forced_down": is_down}
    assert world.ask("PUT", "/os-services/force-down", body, token=ADMIN)[0] == 200


def is_usable(world, dead):
    """Return whether the server is at rest, and runs, unless it rests on a host that is dead."""
    (seen,) = Truth(world).named("server0")
    ((_cell, row),) = seen.rows
    rests = row.task_state is None and row.vm_state in (states.ACTIVE, states.RESIZED)
    runs = seen.guests.get(row.host) == states.RUNNING
    return rests and (runs or row.host in [one.name for one in dead])
