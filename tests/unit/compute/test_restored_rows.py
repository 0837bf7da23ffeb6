"""Old rows, put back from a backup: a guest that was announced once is nobody's leftover."""

import io

import pytest

from roost import exception, states
from roost.operations.kinds import OF_TASK
from roost.operations.transitions import TRANSITIONS
from tests.builders import NOW, a_context
from tests.unit.compute.conftest import run
from tests.unit.compute.reconcile_harness import World

# Steps of moves have tests of their own: see test_server_moves and task_leases. Those that destroy
# are not sent again when their row may be an old copy.
MOVING = {task for task, kind in OF_TASK.items() if kind.is_move}
DESTROY = {states.DELETING, states.SHELVING_OFFLOADING}
TASKS = sorted({state.task for state in TRANSITIONS} - {None, *DESTROY, *MOVING})
DIARY = {"diary": "what its user has written since"}


@pytest.fixture
def world(rig, boot):
    return World(rig, boot)


@pytest.fixture
def server(rig, world):
    """A server whose user has worked with it."""
    instance = world.server()
    write_diary(rig, instance)
    return instance


def write_diary(rig, instance):
    rig.virt._write(instance.uuid, rig.virt.contents(instance.uuid) | DIARY)


def has_diary(rig, instance):
    return (
        rig.virt.exists(instance.uuid) and DIARY.items() <= rig.virt.contents(instance.uuid).items()
    )


def put_back(instance, task, *, attempt=1):
    """Let the row be as it was while the guest was made, or under a task that has ended since."""
    building = task in states.BUILD_TASKS
    instance.vm_state = states.BUILDING if building else states.ACTIVE
    instance.task_state, instance.attempt = task, attempt


def tell(world, boot, instance):
    """Do what a sweep does about a task that nobody works on."""
    task = instance.task_state
    if task in states.BUILD_TASKS:
        instance.task_state = states.SCHEDULING
        boot(world.manager, instance.obj_clone())
    else:
        run(world.manager, instance, kind=OF_TASK[task].name)


@pytest.mark.parametrize("task", TASKS)
def test_no_task_of_an_old_row_wipes_a_guest_that_was_announced(rig, world, boot, server, task):
    put_back(server, task)
    world.reconcile()
    tell(world, boot, server)
    world.reconcile()
    assert has_diary(rig, server)
    assert server.task_state in (None, states.SOFT_DELETING)


@pytest.mark.parametrize("attempt", [1, 2, 5])
@pytest.mark.parametrize("step", ["network", "claim", None])
def test_a_build_put_back_finds_its_server_and_says_so(rig, world, boot, server, attempt, step):
    put_back(server, states.SCHEDULING, attempt=attempt)
    if step == "network":
        rig.conductor.fail("allocate_networks", exception.NoCapacity("no address left"))
    if step == "claim":
        rig.tracker.claim = fails
    tell(world, boot, server)
    assert (server.vm_state, server.task_state) == (states.ACTIVE, None)
    assert (rig.conductor.rescheduled, rig.conductor.abandoned) == ([], [])
    assert has_diary(rig, server)


def fails(*_arguments):
    raise exception.NoCapacity("no room")


def test_a_rebuild_that_was_done_is_not_done_again_and_the_next_one_is(rig, world, server):
    for attempt in (2, 3):
        rebuild(rig, world, server, attempt=attempt)
        assert not has_diary(rig, server)
        write_diary(rig, server)
        server.launched_at = NOW
    put_back(server, states.REBUILDING, attempt=2)
    rebuild(rig, world, server, attempt=2)
    assert has_diary(rig, server)
    assert (server.vm_state, server.task_state) == (states.ACTIVE, None)
    rebuild(rig, world, server, attempt=4)
    assert not has_diary(rig, server)


def another_image(rig):
    return rig.store.add(a_context(), name="another", data=io.BytesIO(b"another"))


def rebuild(rig, world, instance, *, attempt, image=None):
    """Rebuild a server, and return what its user is told."""
    instance.task_state = states.REBUILDING
    rig.conductor.images[instance.uuid] = image or rig.image
    instance.attempt = attempt
    run(world.manager, instance, kind="rebuild")
    return rig.conductor.faults.get(instance.uuid)


@pytest.mark.parametrize(
    "values",
    [
        {"host": "h2", "attempt": 7},
        {"host": "h2", "attempt": 7, "vm_state": states.BUILDING, "task_state": states.SPAWNING},
        {"host": None, "vm_state": states.ERROR, "launched_at": None},
    ],
)
def test_an_old_row_elsewhere_or_given_up_leaves_an_announced_guest(rig, world, server, values):
    for name, value in values.items():
        setattr(server, name, value)
    world.reconcile()
    assert has_diary(rig, server)
    assert world.kinds() == ["guest_left"]


def test_guests_from_before_they_were_noted_are_as_soon_as_they_are_looked_at(rig, world, server):
    rig.unannounce(server.uuid)
    world.reconcile()
    assert rig.virt.describe(server.uuid).announced
    assert world.conductor.findings == []
