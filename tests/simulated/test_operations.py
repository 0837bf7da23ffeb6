"""Every step of every kind of operation fails, is repeated, is undone twice, or its host dies.

Whatever it is, a minute later the server is as the table of the kinds says: at rest, on one host,
with its guest; or nothing is left of it. And in the end, when the host is back, all is in order.
See ``tests/simulation``.
"""

import dataclasses
import functools
import itertools

import pytest

from roost import states
from roost.operations import kinds, steps
from tests.parts import second
from tests.simulated.test_steps import BEGIN, LONG, boot, bring
from tests.simulation.fault_model import Calm
from tests.simulation.loop import current
from tests.simulation.scenarios import Reef, User, in_order
from tests.simulation.simulated_cloud import ADMIN, World
from tests.simulation.step_faults import GONE, MISHAPS, WELL, Runner, happening_in_steps
from tests.simulation.system_state import POWER_AT_REST, Truth

pytestmark = pytest.mark.timeout(3600)  # they run where nothing else wants to
WITHIN = 60.0  # seconds
# The others are a part of the soak; a resize has the steps of a migration.
IN_SUITE = (
    kinds.BUILD,
    *(kinds.MIGRATE, kinds.CONFIRM_RESIZE, kinds.REVERT_RESIZE, kinds.EVACUATE),
    *(kinds.LIVE_MIGRATE, kinds.STOP, kinds.REBUILD, kinds.DELETE, kinds.ATTACH_INTERFACE),
    *(kinds.SHELVE, kinds.SHELVE_OFFLOAD, kinds.UNSHELVE_OFFLOADED),
)


@dataclasses.dataclass(frozen=True)
class Case:
    """A kind that begins in a vm state, and what happens to one of its steps.

    ``failing``: the step that fails before it, which it undoes.
    """

    kind: steps.Kind
    begins: str
    step: str
    failing: str | None
    mishap: str

    def __str__(self):
        steps = filter(None, (self.failing, self.step))
        return "-".join((str(self.kind), self.begins, *steps, self.mishap))

    @property
    def retained_for(self):
        return LONG if states.SOFT_DELETED in (self.begins, self.kind.leads_to) else 0

    @property
    def is_done(self):
        """Whether the operation does what it is to do all the same."""
        kind, step = self.kind, self.kind.step(self.step)
        if kind.builds:
            return True  # on that host, or on another one
        if self.failing:
            return False
        if self.mishap in HARMLESS:
            return self.mishap in (WELL, "runs twice") or kind.why_not_resent is None
        if step.ask is not None:
            return self.mishap == "fails after"  # both hosts are asked: it has arrived
        return kind.repeated_until_done or (step.at != steps.HOST and step.undo is None)

    @property
    def ending(self):
        """How the operation ends, by the table of the kinds."""
        kind, step = self.kind, self.kind.step(self.step)
        if self.is_done:
            return kind.done
        gone_with_its_guest = step.ask is not None and self.mishap == GONE
        if gone_with_its_guest or (step.at == steps.HOST and self.mishap in (*HARMLESS, GONE)):
            return kind.lost
        return steps.IN_ERROR if step.spoils_guest else kind.failed

    @property
    def vm_states(self):
        """The vm states that the server may be in then."""
        found = {states.SOFT_DELETED: states.STOPPED, states.ERROR: states.ACTIVE}
        as_found = found.get(self.begins, self.begins)
        vm_state = self.ending.vm_state
        if self.kind is kinds.SHELVE and self.mishap == "fails after":
            return {states.STOPPED}  # its guest is not found shelved
        if self.is_done or (vm_state == steps.FOUND and self.mishap != "fails before"):
            return {usually(self.kind, self.begins)}
        if vm_state in (steps.UNCHANGED, states.ERROR):  # until its host reports its guest
            return {self.begins if vm_state == steps.UNCHANGED else vm_state, as_found}
        return {as_found if vm_state == steps.FOUND else vm_state}


HARMLESS = (WELL, "runs twice", "dies before", "dies after")


def cases():
    """Yield each step of each kind, in each state that this may begin in, with each mishap."""
    for kind, mishap in itertools.product(kinds.KINDS.values(), (*MISHAPS, GONE, WELL)):
        for begins, step in itertools.product(kind.begins, kind.steps):
            if begins == kind.leads_to:
                continue  # it is there
            if kind.deletes and begins == states.SHELVED_OFFLOADED:
                continue  # no host does it
            if step.undo is not None or mishap != "is undone twice":
                yield Case(kind, begins, step.name, None, mishap)
            if step.undo is not None and mishap != "is undone twice":
                yield Case(kind, begins, step.undo.name, step.name, mishap)
            if step.elsewhere is not None and mishap not in ("is undone twice", GONE):
                yield Case(kind, begins, step.elsewhere.name, step.name, mishap)


def deleted_cases():
    """Yield each step during which its server is deleted, and what happens to it."""
    for case in cases():
        begins = [one for one in case.kind.begins if one != states.BUILDING]
        once = case.kind.builds or case.begins == begins[0]
        if once and not case.kind.deletes and case.mishap != "is undone twice":
            yield case


def is_in_suite(case):
    begins = (states.BUILDING, states.ACTIVE, states.RESIZED)
    return case.kind in IN_SUITE and case.begins in (case.kind.begins[0], *begins)


@pytest.mark.parametrize(
    "case",
    [case if is_in_suite(case) else second(case) for case in cases() if case.mishap != WELL],
    ids=str,
)
def test_a_minute_after_a_mishap_in_its_operation_a_server_is_usable(case):
    check(case, case.vm_states)


@pytest.mark.parametrize(
    "case",
    [
        case if is_in_suite(case) and case.mishap in (WELL, "dies after", GONE) else second(case)
        for case in deleted_cases()
    ],
    ids=str,
)
def test_a_minute_after_a_server_is_deleted_in_an_operation_nothing_of_it_is_left(case):
    check(case, {states.DELETED}, meanwhile=begin_to_delete)


def moving_cases():
    """Yield each step of moves, and the delete of a server that is on two hosts."""
    for case in [case for case in deleted_cases() if case.kind.is_move and case.mishap == GONE]:
        yield dataclasses.replace(case, mishap=WELL)
    yield Case(kinds.DELETE, states.RESIZED, kinds.DELETE.steps[0].name, None, WELL)


@pytest.mark.parametrize(
    "case", [case if is_in_suite(case) else second(case) for case in moving_cases()], ids=str
)
def test_a_minute_after_a_moving_server_is_deleted_without_its_other_host_nothing_is_left(case):
    def lose_the_other_host(case, user):
        world = user.world
        (seen,) = Truth(world).named("server0")
        sides = {host for move in seen.moves for host in (move.source_host, move.dest_host)}
        here = current().task.owner.name
        for host in (sides or {*seen.guests}) - {here}:
            world.processes[host].crash()
        if not case.kind.deletes:
            begin_to_delete(case, user)

    check(case, {states.DELETED}, lose_the_other_host)


class HostReef(Reef):
    """Where the host of a step dies, once it has begun."""

    host = None

    def point(self, process, what):
        if process.name == self.host:
            super().point(process, what)

    def watch(self, _case, _user):
        self.watching, self.host = True, current().task.owner.name


def hosted_cases():
    """Yield each step that is the work of a host."""
    for case in cases():
        if case.mishap == WELL and case.kind.step(case.step).at != steps.CONDUCTOR:
            yield case


@pytest.mark.parametrize("case", [second(one) for one in hosted_cases()], ids=str)
def test_a_minute_after_the_host_is_gone_at_any_place_of_its_step_a_server_is_usable(case):
    if case.kind is kinds.ATTACH_INTERFACE:
        pytest.xfail("a port whose host is gone before its guest has it stays until it is detached")
    calm, failures = HostReef(), {}
    check(case, case.vm_states, calm.watch, calm)
    expected = case.vm_states | dataclasses.replace(case, mishap=GONE).vm_states
    if case.kind.copy is not None and case.kind.step(case.step).at == steps.SOURCE:
        expected |= {case.kind.lost.vm_state}  # the step has ended, and the guest was there still
    for at, place in enumerate(calm.places):
        reef = HostReef(at)
        try:
            check(case, expected, reef.watch, reef)
        except AssertionError as error:
            failures[f"{at}: {place}"] = str(error)
    assert not failures, failures


def check(case, expected, meanwhile=lambda _case, _user: None, sea=None):
    """Begin an operation, let the mishap happen, and look what becomes of the server.

    :param expected: vm states
    :param meanwhile: called with the case and its user in the step, before the mishap
    :param sea: of the world
    """
    before = [Runner(case.failing, "fails after")] if case.failing else []
    with World(0, sea or Calm(), retained_for=case.retained_for) as world:
        dead = []
        world.on_death = lambda one: revive(world, one.name)
        user = bring_to(world, case.kind, case.begins)
        dead += leave(user, case.kind)
        if case.mishap in (GONE, WELL):
            world.on_death = dead.append
        runner = Runner(case.step, case.mishap, functools.partial(meanwhile, case, user))
        with happening_in_steps(*before, runner):
            begin(case.kind, user, case.begins)
            run_until(world, lambda: runner.happened and (dead or getattr(sea, "at", None) is None))
            for one in dead:
                world.lose(one.name)
                world.do(lambda host=one.name: force_down(world, host))
            look = functools.partial(wrong, world, user, expected, dead)
            run_until(world, lambda: not look())
            assert look() == []
            if case.kind is kinds.EVACUATE and sea is None and states.DELETED not in expected:
                ((_cell, row),) = Truth(world).named("server0")[0].rows
                assert (row.host != dead[0].name) == case.is_done
        world.sea.watching = False
        for one in dead:
            world.start(one.name)
            world.do(lambda host=one.name: force_down(world, host, is_down=False))
        assert runner.happened
        assert list(in_order(world, user)) == []
        if case.kind.lock == steps.DEVICE and states.DELETED not in expected:
            assert world.do(lambda: attach_once_more(user)) == 1
            assert list(in_order(world, user)) == []
        assert world.loop.accidents == []


def leave(user, kind):
    """Let the host of a server that is to be evacuated be off for good; return it."""
    if kind is not kinds.EVACUATE:
        return []
    return [user.world.processes[user.world.do(lambda: user.lose_host("server0"))]]


def attach_once_more(user):
    """Attach a port that the user has made; return how many more the server has then."""
    (seen,) = Truth(user.world).named("server0")
    user.attach("server0", user.make_port())
    return len(Truth(user.world).of(seen.uuid).taken) - len(seen.taken)


def begin_to_delete(case, user):
    act = functools.partial(user.delete, "server0", by_force=bool(case.retained_for))
    user.world.loop.spawn(user.world.people, act, "delete")
    user.world.loop.sleep(0.5)


@functools.cache
def usually(kind, begins):
    """Return the vm state that a server comes to by an operation without a mishap."""
    case = Case(kind, begins, kind.steps[0].name, None, "none")
    if kind.deletes:
        return states.DELETED
    with World(0, Calm(), retained_for=case.retained_for) as world:
        user = bring_to(world, kind, begins)
        leave(user, kind)
        begin(kind, user, begins)
        world.loop.run(world.loop.now + 5)
        ((_cell, row),) = Truth(world).named("server0")[0].rows
        assert row.task_state is None
        return row.vm_state


def bring_to(world, kind, begins):
    """Start a world with a server in a vm state, in which an operation may begin."""
    world.start()
    world.loop.run(world.loop.now + 2.5)
    user = User(world, Reef())
    world.do(lambda: _bring(user, kind, begins))
    return user


def _bring(user, kind, begins):
    if kind.builds:
        return
    if begins == states.BUILDING:
        user.boot()
        while not any(
            row.host for seen in Truth(user.world).named("server0") for _, row in seen.rows
        ):
            user.world.loop.sleep(0.05)
        return
    boot(user)
    if begins == states.ERROR:
        user.act("server0", {"os-resetState": {"state": "error"}})
    else:
        bring(user, kind, begins)


def begin(kind, user, begins):
    """Let a user begin an operation, and wait for its end beside all else."""
    if kind.builds:
        act = user.boot
    elif kind is kinds.DELETE:
        act = functools.partial(user.delete, "server0", by_force=begins == states.SOFT_DELETED)
    else:
        act = functools.partial(BEGIN[kind], user)
    if kind is kinds.ATTACH_INTERFACE and begins == states.ACTIVE:
        act = functools.partial(user.attach, "server0", user.world.do(user.make_port))
    user.world.loop.spawn(user.world.people, act, str(kind))


def run_until(world, is_so):
    until = world.loop.now + WITHIN
    while not is_so() and world.loop.now < until:
        world.loop.run(world.loop.now + 0.5)


def revive(world, name):
    world.loop.after(1.0, lambda: world.start(name))


def force_down(world, host, *, is_down=True):
    body = {"host": host, "binary": "nova-compute", "forced_down": is_down}
    assert world.ask("PUT", "/os-services/force-down", body, token=ADMIN)[0] == 200


def wrong(world, user, vm_states, dead):
    """Return what is wrong with the server, but for its guests on hosts that are dead."""
    truth = Truth(world)
    (seen,) = truth.named("server0")
    found = [row.vm_state for _cell, row in seen.rows] or [states.DELETED]
    if not {*found} <= vm_states:
        return [f"it is {found}, not {vm_states}"]
    if not dead:
        return list(truth.wrong(kept=sorted(user.kept), gone=user.gone))
    hosts = {one.name for one in dead}
    seen.guests = {host: power for host, power in seen.guests.items() if host not in hosts}
    if found == [states.DELETED]:
        return [] if seen.is_nothing else [str(seen)]
    ((_cell, row),) = seen.rows
    rests = row.task_state is None and not seen.operations and not seen.open_actions
    if row.host is None:
        nowhere = row.vm_state == states.SHELVED_OFFLOADED and not seen.guests and not seen.claims
        return [] if rests and nowhere else [str(seen)]
    runs = row.host in hosts or seen.guests.get(row.host) == POWER_AT_REST.get(
        row.vm_state, row.power_state
    )
    claimed = {row.host} <= {claim.host for claim in seen.claims}
    says_why = row.vm_state != states.ERROR or seen.faults
    return [] if rests and runs and claimed and says_why else [str(seen)]
