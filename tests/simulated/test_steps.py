"""Every step of every flow fails, is repeated, is undone twice, or its daemon dies around it.

Whatever it is, the server is whole in the end, or in ERROR with a reason; and when it is deleted,
nothing is left: rows, claims, quota, mappings, ports, guests. See ``tests/simulation``.
"""

import functools
import importlib
import inspect
import itertools
import pkgutil

import pytest

import roost
from roost import states
from roost.flow import Flow
from roost.operations import kinds
from tests.parts import second
from tests.simulation.fault_model import Calm
from tests.simulation.scenarios import Reef, Scenario, User, in_order, run
from tests.simulation.simulated_cloud import World
from tests.simulation.step_faults import FLOWS, GONE, MISHAPS, Runner, happening
from tests.simulation.system_state import Truth

pytestmark = pytest.mark.timeout(3600)  # they run where nothing else wants to


def boot(user: User):
    for name in user.boot():
        user.wait_for(name, "active")


def boot_what_no_host_can_take(user: User):
    for name in user.boot(flavor="huge"):
        user.wait_for(name, "error")


def boot_two(user: User):
    for name in user.boot(count=2):
        user.wait_for(name, "active")


def boot_four(user: User):
    for name in user.boot(count=4):
        user.wait_for(name, "active")


def boot_and_delete_while_it_is_built(user: User):
    for name in user.boot():
        user.world.loop.sleep(0.12)
        user.delete(name)


def delete(user: User):
    boot(user)
    user.delete("server0")


def delete_what_got_no_host(user: User):
    boot_what_no_host_can_take(user)
    user.delete("server0")


def by(action):
    return lambda user: user.act("server0", action)


LIVE = {"os-migrateLive": {"host": None, "block_migration": "auto"}}
# How users begin each kind of operation.
BEGIN = {
    kinds.STOP: by({"os-stop": None}),
    kinds.START: by({"os-start": None}),
    kinds.REBOOT: by({"reboot": {"type": "SOFT"}}),
    kinds.HARD_REBOOT: by({"reboot": {"type": "HARD"}}),
    kinds.PAUSE: by({"pause": None}),
    kinds.UNPAUSE: by({"unpause": None}),
    kinds.SUSPEND: by({"suspend": None}),
    kinds.RESUME: by({"resume": None}),
    kinds.REBUILD: lambda user: user.rebuild("server0"),
    kinds.CREATE_IMAGE: by({"createImage": {"name": "image"}}),
    kinds.CREATE_BACKUP: by({"createBackup": {"name": "b", "backup_type": "a", "rotation": 1}}),
    kinds.RESCUE: by({"rescue": None}),
    kinds.UNRESCUE: by({"unrescue": None}),
    kinds.CHANGE_PASSWORD: by({"changePassword": {"adminPass": "secret"}}),
    kinds.TRIGGER_CRASH_DUMP: by({"trigger_crash_dump": None}),
    kinds.MIGRATE: by({"migrate": None}),
    kinds.RESIZE: by({"resize": {"flavorRef": "2"}}),
    kinds.CONFIRM_RESIZE: by({"confirmResize": None}),
    kinds.REVERT_RESIZE: by({"revertResize": None}),
    kinds.EVACUATE: lambda user: user.evacuate("server0"),
    kinds.LIVE_MIGRATE: by(LIVE),
    kinds.SHELVE: by({"shelve": None}),
    kinds.SHELVE_OFFLOAD: by({"shelveOffload": None}),
    kinds.UNSHELVE: by({"unshelve": None}),
    kinds.UNSHELVE_OFFLOADED: by({"unshelve": None}),
    kinds.SOFT_DELETE: lambda user: user.put_away("server0"),
    kinds.ATTACH_INTERFACE: lambda user: user.attach("server0"),
    kinds.DETACH_INTERFACE: lambda user: user.detach("server0"),
    kinds.RESTORE: lambda user: user.restore("server0"),
}
LEADS_TO = {kind.leads_to: kind for kind in kinds.KINDS.values() if kind.leads_to}


def way_to(kind):
    """Return the operation that brings an active server to where another one may begin."""
    return kinds.MIGRATE if kind is kinds.REVERT_RESIZE else LEADS_TO.get(kind.begins[0])


def bring(user: User, kind, begins):
    """Bring an active server to a vm state in which an operation may begin."""
    if begins == states.ACTIVE:
        return
    way = way_to(kind) if begins == kind.begins[0] else LEADS_TO[begins]
    bring(user, way, way.begins[0])
    if way is kinds.SHELVE:
        user.shelve("server0")
    else:
        BEGIN[way](user)
    user.wait_for("server0", begins)


def operation(kind, user: User):
    """Bring a server to where the operation may begin, begin it, and wait until it runs."""
    boot(user)
    bring(user, kind, kind.begins[0])
    BEGIN[kind](user)
    user.wait_for("server0", states.ACTIVE)


def evacuate_what_comes_back(user: User):
    boot(user)
    host = user.lose_host("server0")
    user.evacuate("server0")
    user.world.loop.sleep(2)
    user.wait_for("server0", "active")
    user.return_host(host)


def lock_pause_and_unlock(user: User):
    boot(user)
    user.act("server0", {"pause": None})
    user.act("server0", {"lock": {"locked_reason": "mine"}})
    user.wait_for("server0", "paused")
    user.act("server0", {"unlock": None})


def reset_the_state_of_what_is_being_stopped(user: User):
    boot(user)
    user.act("server0", {"os-stop": None})
    user.act("server0", {"os-resetState": {"state": "error"}})
    user.wait_for("server0", "error")
    user.act("server0", {"reboot": {"type": "HARD"}})
    user.wait_for("server0", "active")


def rebuild_somehow(user: User):
    """It may fail, and then says so."""
    boot(user)
    user.rebuild("server0")


def rebuild_what_is_stopped_and_start_it(user: User):
    boot(user)
    user.act("server0", {"os-stop": None})
    user.wait_for("server0", "stopped")
    user.rebuild("server0")
    user.wait_for("server0", "stopped")
    user.act("server0", {"os-start": None})
    user.wait_for("server0", "active")


def delete_while_it_is_rebuilt(user: User):
    boot(user)
    user.rebuild("server0")
    user.world.loop.sleep(0.06)
    user.delete("server0")


def rescue(user: User):
    boot(user)
    user.act("server0", {"rescue": None})
    user.wait_for("server0", "rescued")


def back_up_twice_what_is_stopped(user: User):
    boot(user)
    user.act("server0", {"os-stop": None})
    user.wait_for("server0", "stopped")
    for _ in range(2):
        user.act("server0", {"createBackup": {"name": "b", "backup_type": "a", "rotation": 1}})
        user.wait_for("server0", "stopped")


def delete_while_its_image_is_made(user: User):
    boot(user)
    user.act("server0", {"createImage": {"name": "image"}})
    user.world.loop.sleep(0.03)
    user.delete("server0")


def delete_by_force_what_is_paused(user: User):
    boot(user)
    user.act("server0", {"pause": None})
    user.wait_for("server0", "paused")
    user.delete("server0", by_force=True)


def put_away_and_leave(user: User):
    boot(user)
    user.put_away("server0")


def put_away_twice_what_is_stopped(user: User):
    boot(user)
    user.act("server0", {"os-stop": None})
    user.wait_for("server0", "stopped")
    user.put_away("server0")
    user.restore("server0")
    user.put_away("server0")


def put_away_while_its_image_is_made(user: User):
    boot(user)
    user.act("server0", {"createImage": {"name": "image"}})
    user.world.loop.sleep(0.03)
    user.put_away("server0")


def put_away_and_let_it_be_reclaimed(user: User):
    boot(user)
    user.delete("server0")


def put_away_and_delete_by_force(user: User):
    boot(user)
    user.put_away("server0")
    user.delete("server0", by_force=True)


def delete_for_good_what_cannot_be_put_away(user: User):
    boot_what_no_host_can_take(user)
    user.delete("server0")


BOOT = Scenario("boot", boot)
LONG = 3600  # seconds: longer than any of this takes
SCENARIOS = [
    BOOT,
    Scenario("no host", boot_what_no_host_can_take),
    Scenario("reschedule", boot, failing={"spawn": "reschedulable"}),
    Scenario("reschedule of two", boot_two, failing={"spawn": "reschedulable"}),
    Scenario("final failure", lambda user: user.boot(), failing={"prepare": "final"}),
    Scenario("delete while building", boot_and_delete_while_it_is_built),
    Scenario("delete", delete),
    Scenario("delete what got no host", delete_what_got_no_host),
    Scenario("lock, pause and unlock", lock_pause_and_unlock),
    Scenario("reset what is being stopped", reset_the_state_of_what_is_being_stopped),
    Scenario("delete by force what is paused", delete_by_force_what_is_paused),
    Scenario("rebuild what is stopped", rebuild_what_is_stopped_and_start_it),
    Scenario("delete while it is rebuilt", delete_while_it_is_rebuilt),
    Scenario("rescue", rescue),
    Scenario("back up twice", back_up_twice_what_is_stopped),
    Scenario("delete while its image is made", delete_while_its_image_is_made),
    Scenario("put away", put_away_and_leave, retained_for=LONG),
    Scenario("put away twice", put_away_twice_what_is_stopped, retained_for=LONG),
    Scenario("put away in a task", put_away_while_its_image_is_made, retained_for=LONG),
    Scenario("reclaim", put_away_and_let_it_be_reclaimed, retained_for=10),
    Scenario("put away and delete by force", put_away_and_delete_by_force, retained_for=LONG),
    Scenario("cannot be put away", delete_for_good_what_cannot_be_put_away, retained_for=LONG),
]
# One per kind of operation; one that leads to a state is on the way to those that begin in it.
for kind in kinds.KINDS.values():
    if kind.leads_to is None and not (kind.deletes or kind.builds):
        retained_for = LONG if states.SOFT_DELETED in kind.begins else 0
        act = (
            evacuate_what_comes_back
            if kind is kinds.EVACUATE
            else functools.partial(operation, kind)
        )
        SCENARIOS.append(Scenario(kind.name, act, retained_for=retained_for))
# The others are a part of the soak.
IN_SUITE = (
    "boot",
    "reschedule",
    "delete while building",
    "start",
    "rebuild",
    "delete while it is rebuilt",
    "restore",
    "create_image",
    "attach_interface",
    "evacuate",
    "live_migrate",
    "unshelve_offloaded",
)
# The scenario that goes through a flow.
BY_FLOW = {
    **dict.fromkeys(("place", "adopt", "build"), BOOT),
    "place together": Scenario("boot of four", boot_four),
    "record": SCENARIOS[1],
    "rebuild": Scenario("rebuild somehow", rebuild_somehow),
}


@pytest.mark.parametrize("mishap", MISHAPS)
@pytest.mark.parametrize(
    ("flow", "step"), [(name, step.name) for name, flow in FLOWS.items() for step in flow.steps]
)
def test_a_step_of_a_flow(flow, step, mishap):
    runner = Runner(step, mishap)
    adopting = (
        happening("place", Runner("create_in_cell", "dies after"))
        if flow == "adopt"
        else happening(flow, runner)
    )
    with adopting, happening(flow, runner):
        wrong = list(run(BY_FLOW[flow], Reef()))
    assert runner.happened
    assert wrong == []


@pytest.mark.parametrize("step", [step.name for step in FLOWS["build"].steps])
def test_the_host_of_a_build_is_gone_for_good(step):
    runner = Runner(step, GONE)
    with World(0, Calm()) as world, happening("build", runner):
        dead = []
        world.on_death = dead.append
        world.start()
        world.loop.run(world.loop.now + 2.5)
        user = User(world, Reef())
        world.do(user.boot)
        world.loop.run(world.loop.now + 90)
        ((_cell, row),) = Truth(world).named("server0")[0].rows
        assert runner.happened
        assert row.vm_state == states.ACTIVE
        assert row.host not in [one.name for one in dead]
        for one in dead:
            world.start(one.name)
        assert list(in_order(world, user)) == []


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "scenario",
    [each if each.name in IN_SUITE else second(each) for each in SCENARIOS],
    ids=lambda scenario: scenario.name,
)
def test_a_daemon_dies_at_each_place_of(scenario):
    places = places_of(scenario)
    alike = [] if scenario is BOOT else zip(places_of_boot(), places, strict=False)
    known = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], alike))
    failures = {}
    for at, place in enumerate(places[known:], start=known):
        wrong = list(run(scenario, Reef(at)))
        if wrong:
            failures[f"{at}: {place}"] = wrong
    assert len(places) > known
    assert failures == {}


def places_of(scenario):
    """Return where daemons can die in a scenario, in order."""
    calm = Reef()
    assert list(run(scenario, calm)) == []
    return calm.places


@functools.cache
def places_of_boot():
    """Return those of a boot, as which most scenarios begin."""
    return places_of(BOOT)


def test_each_kind_of_operation_is_in_a_scenario():
    alone = {each.name for each in SCENARIOS}
    for kind in kinds.KINDS.values():
        if kind.builds:
            continue  # each scenario begins with one
        on_the_way = [each for each in kinds.KINDS.values() if way_to(each) is kind]
        assert {kind.name, *map(str, on_the_way)} & alone, kind


def test_all_flows_are_in_the_table():
    found = set()
    for module in pkgutil.walk_packages(roost.__path__, "roost."):
        if module.name.split(".")[1] in ("conductor", "compute", "api", "scheduler", "cells"):
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, Flow):
                    found.add(value.name)
                elif inspect.isfunction(value) and "Flow[" in str(
                    inspect.signature(value).return_annotation
                ):
                    found.add(value().name)
    assert found == set(FLOWS)
