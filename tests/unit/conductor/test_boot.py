"""From a wish to a host that was told of it: what the super-conductor does."""

import pytest

from roost import exception, states
from roost.conductor.super import boot
from roost.db.api import build_requests, cells, instance_mappings, quota
from roost.db.cell import actions, faults, instance_lists, operations
from roost.db.instance_query import Wanted
from roost.objects.mapping import CELL0_UUID
from tests.builders import (
    CELL1,
    CELL2,
    a_pinned_topology,
    a_selection,
    a_spec,
    a_wish,
    an_instance,
)
from tests.unit.conductor.placements import (
    assert_placed,
    build_request,
    end_leases,
    failing,
    instance,
    mapping,
    run_with,
)


def assert_clean_slate(world, uuid):
    """Nothing is left of a server that its user deleted: no claim, no row."""
    assert uuid not in world.scheduler.claims
    for database in world.databases.values():
        assert instance(database, uuid) is None
    assert build_request(world, uuid) is None


def test_a_wish_becomes_an_instance_on_the_chosen_host(world):
    _request, (uuid,) = made = world.build_request()
    world.build(made)
    found = instance(world.cell1, uuid)
    assert (found.host, found.attempt) == ("h1", 1)
    assert (found.vm_state, found.task_state) == (states.BUILDING, states.SPAWNING)
    assert mapping(world, uuid).cell_uuid == CELL1
    assert build_request(world, uuid) is None


@pytest.mark.parametrize("hosts", ["some", "none"])
def test_what_its_user_wrote_on_a_wish_goes_with_it_to_the_cell(world, hosts):
    spec = a_spec()
    noted = a_wish(spec, instance=an_instance(metadata={"k": "v"}, tags=["a", "é"]))
    with world.api_db.begin() as session:
        build_requests.create(session, [noted], spec=spec)
    if hosts == "none":
        world.scheduler.room = {"h1": 0}
    world.build((spec.request_uuid, [noted.instance_uuid]))
    database = world.cell1 if hosts == "some" else world.databases[CELL0_UUID]
    found = instance(database, noted.instance_uuid)
    assert (found.metadata, found.tags) == ({"k": "v"}, ["a", "é"])
    with database.read() as session:
        wanted = Wanted(tags=[["a"], ["é"]])
        (listed,) = instance_lists.list_page(session, wanted, limit=2)
    assert listed.uuid == noted.instance_uuid


def test_the_host_is_told_the_resources_that_were_claimed_there(world):
    selection = a_selection(
        "h1",
        claimed=True,
        limits={"vcpus": 8},
        numa_topology=a_pinned_topology(2, 3),
        availability_zone="of h1",
    )
    world.scheduler.select_destinations = lambda *_, **__: [[selection]]
    _request, (uuid,) = made = world.build_request()
    world.build(made)
    ((_host, _method, told),) = world.casts()
    assert told["selection"] == selection
    assert told["instance"].numa_topology == selection.numa_topology
    assert instance(world.cell1, uuid).numa_topology == selection.numa_topology
    assert instance(world.cell1, uuid).availability_zone == "of h1"
    with world.cell1.read() as session:
        assert operations.find_build(session, uuid).params.selection == selection


def test_the_scheduler_is_asked_once_for_all_instances_of_a_request(world):
    made = world.build_request(3)
    world.build(made)
    assert [uuids for _spec, uuids in world.scheduler.asked] == [made[1]]
    assert len(world.casts()) == 3


def test_a_doubled_hint_builds_nothing_twice(world):
    made = world.build_request()
    world.build(made)
    world.build(made)
    assert len(world.casts()) == 1
    assert len(world.scheduler.asked) == 1


def test_alternates_wait_in_the_cell_for_a_reschedule(world):
    _request, (uuid,) = made = world.build_request()
    world.build(made)
    with world.cell1.read() as session:
        alternates = operations.find_build(session, uuid).params.alternates
    assert [each.host for each in alternates] == ["h2", "h3"]


def test_the_history_names_the_steps_in_order(world):
    _request, (uuid,) = made = world.build_request()
    world.build(made)
    with world.cell1.read() as session:
        (action,) = actions.list_actions(session, uuid)
        events = actions.get(session, uuid, action.request_id).events
    assert [event.event for event in events] == [
        "api.accept",
        "super-conductor.lease",
        "scheduler.select_destinations",
        "super-conductor.create_in_cell",
    ]


def test_without_a_valid_host_the_instance_rests_in_cell0_with_the_reason(world):
    world.scheduler.room = {"h1": 0}
    _request, (uuid,) = made = world.build_request()
    world.build(made)
    assert instance(world.cell0, uuid).vm_state == states.ERROR
    with world.cell0.read() as session:
        assert "no room" in faults.latest(session, [uuid])[uuid].message
    assert mapping(world, uuid).cell_uuid == CELL0_UUID
    assert build_request(world, uuid) is None
    assert world.casts() == []


def test_notifications_tell_of_the_question_and_the_answer(world):
    world.build(world.build_request())
    assert world.notifier.events() == [
        "scheduler.select_destinations.start",
        "scheduler.select_destinations.end",
    ]
    assert world.notifier.sent[1][1].selections[0].host == "h1"


def test_a_server_deleted_before_it_is_mapped_leaves_nothing(world):
    _request, (uuid,) = made = world.build_request()
    created = boot.create_in_cell

    def delete_now(work):
        created(work)
        with world.api_db.begin() as session:
            assert instance_mappings.withdraw(session, uuid)

    run_with(world, {"create_in_cell": delete_now}, made)
    assert_clean_slate(world, uuid)
    assert world.casts() == []
    with world.api_db.read() as session:
        assert quota.usage(session, "project")["instances"] == 0


def test_a_server_deleted_while_no_host_is_found_leaves_nothing(world):
    world.scheduler.room = {"h1": 0}
    _request, (uuid,) = made = world.build_request()
    refuse = world.scheduler.select_destinations

    def delete_now(*args, **kwargs):
        with world.api_db.begin() as session:
            instance_mappings.withdraw(session, uuid)
        return refuse(*args, **kwargs)

    world.scheduler.select_destinations = delete_now
    world.build(made)
    assert_clean_slate(world, uuid)


def test_a_host_seen_for_the_first_time_is_mapped(world):
    world.scheduler.room = {"new-cell1": 1}
    _request, (uuid,) = made = world.build_request()
    world.build(made)
    assert instance(world.cell1, uuid).host == "new-cell1"


def test_a_host_that_no_cell_knows_is_no_place_to_build(world):
    world.scheduler.room = {"stranger": 1}
    _request, (uuid,) = made = world.build_request()
    world.build(made)
    assert world.scheduler.claims == {}
    assert build_request(world, uuid) is not None


def test_with_the_cells_bus_away_the_row_still_says_what_to_build(world):
    world.buses["fake://cell1/"].away = True
    _request, (uuid,) = made = world.build_request()
    world.build(made)
    assert instance(world.cell1, uuid).host == "h1"
    assert mapping(world, uuid).cell_uuid == CELL1


def test_with_the_scheduler_away_the_wish_stays_and_is_free_for_the_next(world):
    world.scheduler.away = True
    _request, (uuid,) = made = world.build_request()
    with pytest.raises(exception.Unavailable):
        world.build(made)
    world.scheduler.away = False
    world.sweeper.sweep()
    assert instance(world.cell1, uuid).host == "h1"


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("step", boot.PLACE.steps[:2], ids=lambda step: step.name)
def test_a_placement_that_fails_leaves_the_wish_and_nothing_else(world, step, after):
    _request, (uuid,) = made = world.build_request()
    run_with(world, failing(step, after=after), made)
    assert uuid not in world.scheduler.claims
    assert instance(world.cell1, uuid) is None
    assert build_request(world, uuid) is not None


@pytest.mark.parametrize("step", boot.PLACE.steps[:-1], ids=lambda step: step.name)
def test_a_placement_that_failed_succeeds_when_it_is_tried_again(world, step):
    _request, (uuid,) = made = world.build_request()
    run_with(world, failing(step, after=False), made)
    end_leases(world)
    world.build(made)
    assert instance(world.cell1, uuid).host in world.scheduler.claims[uuid]
    assert mapping(world, uuid).cell_uuid == CELL1


@pytest.mark.parametrize("step", boot.PLACE.steps[:2], ids=lambda step: step.name)
def test_every_step_and_undo_may_be_repeated(world, step):
    _request, (uuid,) = made = world.build_request()

    def twice(do, work):
        do(work)
        do(work)

    replaced = {step.name: lambda work: twice(step.do, work)}
    if step.undo:
        replaced[step.undo.__name__] = lambda work: twice(step.undo, work)
    run_with(world, replaced, made)
    assert instance(world.cell1, uuid).host == "h1"


def test_an_accident_with_one_instance_does_not_keep_the_others_waiting(world):
    _request, uuids = made = world.build_request(3)

    def stumble(work):
        if uuids[0] in work.uuids:
            raise ValueError("on purpose")
        boot.create_in_cell(work)

    run_with(world, {"create_in_cell": stumble}, made)
    assert uuids[0] not in world.scheduler.claims
    for uuid in uuids[1:]:
        assert_placed(world, uuid)


def test_a_burial_that_fails_half_way_leaves_nothing_in_cell0(world, monkeypatch):
    _request, (uuid,) = made = world.build_request()
    room, world.scheduler.room = world.scheduler.room, {"h1": 0}

    def away(*_args):
        raise exception.Unavailable("the database is away")

    with monkeypatch.context() as trouble:
        trouble.setattr(instance_mappings, "map_to_cell", away)
        world.build(made)
    world.scheduler.room = room
    end_leases(world)
    world.build(made)
    assert_placed(world, uuid)
    assert instance(world.cell0, uuid) is None


def test_the_scheduler_is_told_which_cells_get_nothing_new(world):
    with world.api_db.begin() as session:
        cells.update(session, CELL2, disabled=True)
    world.cells._fresh(0)
    world.build(world.build_request())
    ((spec, _uuids),) = world.scheduler.asked
    assert spec.ignore_cells == [CELL2]
