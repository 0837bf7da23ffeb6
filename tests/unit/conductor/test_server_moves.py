"""Moves step by step, as hosts report them, and as the sweeper finds them."""

import datetime
import functools

import pytest
import sqlalchemy as sa

from roost import exception, states
from roost.conductor.cell.liveness import COMPUTE
from roost.conductor.cell.operations.reports import ObservedGuest
from roost.db.cell import (
    actions,
    instances,
    left_behind,
    migrations,
    models,
    operations,
    services,
)
from roost.db.types import utcnow
from roost.objects import InstanceResources, OperationParams
from roost.operations import kinds
from roost.operations.advance import Outcome
from roost.operations.kinds import CONFIRM_RESIZE, EVACUATE, LIVE_MIGRATE, MIGRATE, REVERT_RESIZE
from roost.operations.steps import ABORT
from roost.rpc.scheduler import RESERVATION_LIFETIME
from tests.builders import a_migration, a_numa_topology, a_spec, an_instance
from tests.operation_rows import a_report
from tests.unit.db.test_cell import an_action

STATUS = {
    MIGRATE: "migrating",
    EVACUATE: "migrating",
    LIVE_MIGRATE: "preparing",
    CONFIRM_RESIZE: "confirming",
    REVERT_RESIZE: "reverting",
}


@pytest.fixture
def begin(cell):
    """Begin an operation of a server that moves from h1 to h2; return its uuid."""
    cell.scheduler.room = {"h1": 10, "h2": 10}

    def begin(kind=MIGRATE, *, vm_state=states.ACTIVE, **values):
        there = kind in (CONFIRM_RESIZE, REVERT_RESIZE)
        instance = an_instance(
            host="h2" if there else "h1",
            node="h2" if there else "h1",
            vm_state=states.RESIZED if there else vm_state,
            task_state=None,
            power_state=states.RUNNING,
        )
        migration = a_migration(
            instance_uuid=instance.uuid, status=STATUS[kind], dest_zone="east", **values
        )
        spec = a_spec(requested_cell=CELL, ignore_hosts=["h1"])
        with cell.database.begin() as session:
            instances.create(session, instance)
            migrations.create(session, migration)
            record = an_action(instance.uuid, action=kind.action)
            operations.start(
                session,
                kind,
                record,
                uuid=migration.uuid,
                migration=migration,
                params=OperationParams.of(spec=spec),
            )
        return str(instance.uuid)

    return begin


CELL = "00000000-0000-4000-8000-00000000000c"


@pytest.fixture
def report(cell):
    """Report the end of the step that is under way, as its host does."""

    def report(uuid, *, reason=None, power_state=states.RUNNING, **more):
        found = ObservedGuest(
            of(cell, uuid).host, power_state, states.AS_FOUND.get(power_state), reason=reason
        )
        cell.outcomes.end(cell.context, of(cell, uuid), a_report(found, **more))

    return report


def why_undone(cell, uuid):
    with cell.database.read() as session:
        _spec, reason, _asked = operations.request_of(session, operations.find(session, uuid))
    return reason


def of(cell, uuid):
    with cell.database.read() as session:
        return operations.find(session, uuid)


def row(cell, uuid):
    with cell.database.read() as session:
        return instances.get(session, uuid)


def status(cell, uuid):
    table = models.migrations
    with cell.database.read() as session:
        mine = sa.select(table.c.status).where(table.c.instance_uuid == uuid)
        return session.scalar(mine)


def history(cell, uuid):
    with cell.database.read() as session:
        (found,) = actions.list_actions(session, uuid)
    return found


def sent(cell):
    return [(host, told["operation"].step) for host, _method, told in cell.bus.sent]


def end_leases(cell):
    past = utcnow() - datetime.timedelta(seconds=60)
    with cell.database.begin() as session:
        session.execute(sa.update(models.operations).values(lease_until=past))


def test_a_move_goes_from_host_to_host_and_ends_on_the_other_one(cell, begin, report):
    resources = InstanceResources.of(
        instance_uuid=CELL, numa_topology=a_numa_topology({"pcpus": [1]}), pci=[]
    )
    uuid = begin(dest_resources=resources)
    report(uuid, handover="room")
    assert (of(cell, uuid).step, of(cell, uuid).host, of(cell, uuid).handover) == (
        *("send", "h1", "room"),
    )
    assert row(cell, uuid).task_state == states.RESIZE_MIGRATING
    report(uuid, power_state=states.SHUTDOWN)
    report(uuid)
    found = row(cell, uuid)
    assert (found.vm_state, found.task_state, found.host, found.node) == (
        *(states.RESIZED, None, "h2", "h2"),
    )
    assert (found.availability_zone, found.numa_topology.cells[0].pcpus) == ("east", [1])
    assert sent(cell) == [("h1", "send"), ("h2", "arrive")]
    assert (status(cell, uuid), of(cell, uuid), cell.scheduler.released) == ("finished", None, [])
    assert cell.scheduler.confirmed == [(uuid, "h2")]
    assert history(cell, uuid).finish_time is not None


def test_a_host_says_how_much_is_copied_as_long_as_its_step_is_under_way(cell, begin, report):
    uuid, copied = begin(), {"disk_total_bytes": 2**41, "disk_processed_bytes": 2**40}
    report(uuid, handover="room")
    report(uuid)
    arriving, outcomes = of(cell, uuid), cell.outcomes
    outcomes.advance(arriving, copied)
    with cell.database.read() as session:
        assert migrations.progress(session, [uuid]) == {uuid: 50}
    with pytest.raises(exception.Invalid):
        outcomes.advance(arriving, {"status": "finished"})
    report(uuid)
    with pytest.raises(exception.Conflict):
        outcomes.advance(arriving, copied)


@pytest.mark.parametrize(
    ("kind", "on", "leaves", "ended"),
    [
        (CONFIRM_RESIZE, "h2", "h1", "confirmed"),
        (REVERT_RESIZE, "h1", "h2", "reverted"),
        (EVACUATE, "h2", "h1", "done"),
        (LIVE_MIGRATE, "h2", "h1", "completed"),
    ],
)
def test_its_end_leaves_one_host_and_one_claim(cell, begin, report, kind, on, leaves, ended):
    uuid = begin(kind)
    for _ in kind.steps:
        report(uuid)
    found = row(cell, uuid)
    assert (found.vm_state, found.task_state, found.host) == (states.ACTIVE, None, on)
    assert (status(cell, uuid), cell.scheduler.released) == (ended, [(uuid, leaves)])
    with cell.database.read() as session:  # an evacuation ends without the host that it leaves
        assert left_behind.on_host(session, leaves) == ({uuid} if kind is EVACUATE else set())


def test_a_live_migration_shows_how_far_it_is(cell, begin, report):
    uuid, seen = begin(LIVE_MIGRATE), []
    for _ in LIVE_MIGRATE.steps:
        seen.append((of(cell, uuid).step, status(cell, uuid)))
        report(uuid, handover="something")
    assert seen == [
        *(("describe", "preparing"), ("make_room", "preparing")),
        *(("transfer", "running"), ("take_over", "post-migrating")),
    ]


def test_what_a_guest_has_left_at_a_source_that_died_is_noted_there(cell, begin, report):
    uuid = begin(LIVE_MIGRATE)
    for handover in ("guest", "room"):
        report(uuid, handover=handover)
    report(uuid, outcome=Outcome.UNDECIDED, reason="the bus broke")
    assert of(cell, uuid).step == "look_at_source"
    report(uuid, handover="room")
    assert (of(cell, uuid).step, of(cell, uuid).host) == ("look_at_destination", "h2")
    report(uuid)
    assert of(cell, uuid).step == "take_over"
    report(uuid)
    assert (status(cell, uuid), row(cell, uuid).host) == ("completed", "h2")
    with cell.database.read() as session:
        assert left_behind.on_host(session, "h1") == {uuid}


def test_what_is_asked_of_a_live_migration_reaches_the_host_that_copies(cell, begin, report):
    uuid = begin(LIVE_MIGRATE)
    report(uuid, handover="guest")
    report(uuid, handover="room")
    copying, copied = of(cell, uuid), {"memory_total_bytes": 2**30, "memory_remaining_bytes": 1}
    assert cell.outcomes.advance(copying, copied) is None
    cell.database.write(operations.ask, copying, ABORT)
    assert cell.outcomes.advance(copying, copied) == ABORT
    report(uuid, outcome=Outcome.UNDECIDED, reason="it was aborted")
    with pytest.raises(exception.Conflict):
        cell.database.write(operations.ask, copying, ABORT)
    report(uuid, handover="here")
    report(uuid, outcome=Outcome.STAYED)
    assert sent(cell)[-1] == ("h2", "clear_room")
    for _ in range(2):
        report(uuid)
    assert (status(cell, uuid), row(cell, uuid).host) == ("cancelled", "h1")
    assert history(cell, uuid).message == "it was aborted"


@pytest.mark.parametrize("outcome", [Outcome.LOST, Outcome.TORN])
def test_a_server_whose_guest_neither_host_has_is_in_error(cell, begin, report, outcome):
    """What is torn between both stays there."""
    uuid = begin(LIVE_MIGRATE)
    for handover in ("guest", "room"):
        report(uuid, handover=handover)
    report(uuid, outcome=Outcome.UNDECIDED, reason="the bus broke")
    report(uuid, handover="absent")
    report(uuid, outcome=outcome)
    assert (row(cell, uuid).vm_state, row(cell, uuid).host) == (states.ERROR, "h1")
    assert (status(cell, uuid), cell.scheduler.released) == ("failed", [(uuid, "h2")])
    with cell.database.read() as session:
        noted = {uuid} if outcome is Outcome.LOST else set()
        assert left_behind.on_host(session, "h2") == noted


@pytest.mark.parametrize(
    ("done", "back"),
    [
        (0, [("h2", "discard")]),
        (1, [("h1", "stay"), ("h2", "discard")]),
        (2, [("h2", "withdraw"), ("h1", "stay"), ("h2", "discard")]),
    ],
)
def test_a_step_that_fails_is_undone_with_those_before_it(cell, begin, report, done, back):
    uuid = begin()
    for _ in range(done):
        report(uuid)
    cell.bus.sent.clear()
    report(uuid, reason="it broke")
    for _ in back:
        report(uuid)
    assert sent(cell) == back
    found = row(cell, uuid)
    assert (found.vm_state, found.task_state, found.host) == (states.ACTIVE, None, "h1")
    assert (status(cell, uuid), cell.scheduler.released) == ("error", [(uuid, "h2")])
    assert history(cell, uuid).message == "it broke"


def test_a_late_copy_of_a_report_changes_nothing(cell, begin, report):
    uuid = begin()
    first = of(cell, uuid)
    report(uuid)
    found = ObservedGuest("h2", states.RUNNING)
    with pytest.raises(exception.Conflict):
        cell.outcomes.end(cell.context, first, a_report(found))
    assert of(cell, uuid).step == "send"


def test_a_step_is_sent_again_and_at_last_undone(cell, begin):
    uuid = begin()
    for _ in range(MIGRATE.tries):
        end_leases(cell)
        cell.sweep()
    assert sent(cell) == [("h2", "prepare")] * MIGRATE.tries
    end_leases(cell)
    cell.sweep()
    assert sent(cell)[-1] == ("h2", "discard")
    assert "it was sent there 11 times" in why_undone(cell, uuid)


def test_a_destination_that_goes_down_before_anything_was_stopped_is_left_alone(cell, begin):
    uuid = begin()
    end_leases(cell)
    cell.down = {"h2"}
    for _ in range(2):  # one finds the step, the other its undo
        cell.sweep()
        end_leases(cell)
    found = row(cell, uuid)
    assert (found.vm_state, found.task_state, found.host) == (states.ACTIVE, None, "h1")
    assert status(cell, uuid) == "error"
    with cell.database.read() as session:
        assert left_behind.on_host(session, "h2") == {uuid}


@pytest.mark.parametrize(
    ("kind", "done", "down", "waits_for"),
    [
        (MIGRATE, 1, "h1", "stay"),
        (MIGRATE, 2, "h2", "withdraw"),
        (REVERT_RESIZE, 0, "h2", "withdraw"),
        (REVERT_RESIZE, 1, "h1", "stay"),
    ],
)
def test_a_host_that_may_have_the_guest_is_waited_for(
    cell, begin, report, kind, done, down, waits_for
):
    uuid = begin(kind)
    for _ in range(done):
        report(uuid)
    cell.down = {down}
    for _ in range(20):
        end_leases(cell)
        cell.sweep()
    assert (of(cell, uuid).step, of(cell, uuid).host) == (waits_for, down)
    cell.down, before = set(), len(sent(cell))
    end_leases(cell)
    cell.sweep()
    assert sent(cell)[before:] == [(down, waits_for)]


@pytest.mark.parametrize(
    ("kind", "done", "fails", "dead", "skipped", "ended"),
    [
        (CONFIRM_RESIZE, 0, False, "h1", "leave", "confirmed"),
        (REVERT_RESIZE, 0, False, "h2", "withdraw", "reverted"),
        (MIGRATE, 2, True, "h2", "withdraw", "error"),
        (MIGRATE, 1, True, "h1", "stay", "error"),
    ],
)
def test_the_steps_of_a_fenced_host_are_skipped_and_what_it_has_is_left_behind(
    cell, begin, report, kind, done, fails, dead, skipped, ended
):
    uuid = begin(kind)
    for _ in range(done):
        report(uuid)
    if fails:
        report(uuid, reason="it broke")
    assert (of(cell, uuid).step, of(cell, uuid).host) == (skipped, dead)
    operation_uuid = of(cell, uuid).uuid
    with cell.database.begin() as session:
        services.report(session, host=dead, binary=COMPUTE)
        (service,) = services.list_services(session, hosts=[dead])
        services.update(session, service.uuid, forced_down=True)
    cell.down = {dead}
    end_leases(cell)
    cell.sweep()
    while of(cell, uuid) is not None:  # what the others do after that
        report(uuid, power_state=states.RUNNING)
    assert (row(cell, uuid).task_state, status(cell, uuid)) == (None, ended)
    with cell.database.read() as session:
        assert left_behind.on_host(session, dead) == {uuid}
        events = actions.events_of(session, operation_uuid)
    (skip,) = [event for event in events if event.event == "cell-conductor.skip"]
    assert dead in skip.details
    assert cell.scheduler.released == [(uuid, "h1" if kind is CONFIRM_RESIZE else "h2")]


def test_without_its_source_which_is_only_down_a_move_is_confirmed(cell, begin):
    uuid = begin(CONFIRM_RESIZE)
    cell.down = {"h1"}
    end_leases(cell)
    cell.sweep()
    assert (of(cell, uuid), status(cell, uuid)) == (None, "confirmed")


@pytest.mark.parametrize(
    ("kind", "step"),
    [(MIGRATE, "withdraw"), (REVERT_RESIZE, "withdraw"), (REVERT_RESIZE, "stay")],
)
def test_what_may_have_the_guest_is_sent_without_end(cell, begin, report, kind, step):
    uuid = begin(kind)
    if kind is MIGRATE:
        report(uuid)
        report(uuid)
        report(uuid, reason="it broke")
    if step == "stay":
        report(uuid)
    cell.bus.sent.clear()
    for _ in range(3 * kind.tries):
        end_leases(cell)
        cell.sweep()
    assert {sent_step for _host, sent_step in sent(cell)} == {step}
    assert len(sent(cell)) == 3 * kind.tries
    assert (of(cell, uuid).step, cell.scheduler.released) == (step, [])


def test_a_destination_that_never_discards_is_left_alone(cell, begin, report):
    uuid = begin()
    report(uuid, reason="it broke")
    for _ in range(MIGRATE.tries + 1):
        end_leases(cell)
        cell.sweep()
    assert (status(cell, uuid), row(cell, uuid).vm_state) == ("error", states.ACTIVE)
    assert cell.scheduler.released == [(uuid, "h2")]


def test_a_late_report_releases_no_claim(cell, begin, report):
    uuid = begin(CONFIRM_RESIZE)
    first = of(cell, uuid)
    report(uuid)
    cell.scheduler.released.clear()
    with cell.database.begin() as session:
        migrations.create(session, a_migration(instance_uuid=uuid, source_host="h2"))
    with pytest.raises(exception.Conflict):
        cell.outcomes.end(cell.context, first, a_report(ObservedGuest("h1", None)))
    assert cell.scheduler.released == []


def test_a_move_begins_only_from_the_host_that_the_server_is_on(cell, begin):
    uuid = begin(REVERT_RESIZE)
    with cell.database.begin() as session:
        operations.preempt(session, uuid, "it has ended")
        rest = {"task_state": None, "vm_state": states.ACTIVE}
        instances.update(session, uuid, rest, expected={})
    record = an_action(uuid, action="migrate", request_id="req-2")
    other = a_migration(instance_uuid=uuid)
    with pytest.raises(exception.Conflict), cell.database.begin() as session:
        operations.start(session, MIGRATE, record, uuid=other.uuid, migration=other)


def test_a_step_that_fails_and_must_be_done_is_tried_again_later(cell, begin, report):
    uuid = begin(CONFIRM_RESIZE)
    report(uuid, reason="no luck")
    assert (of(cell, uuid).step, row(cell, uuid).vm_state) == ("leave", states.RESIZED)


def test_the_claim_is_made_again_before_a_late_move_begins_or_the_move_is_undone(cell, begin):
    uuid = begin()
    take_up = functools.partial(cell.outcomes.take_up, cell.context, seconds=30)
    assert take_up(of(cell, uuid)).step == "prepare"  # the API's claim is there
    assert uuid not in cell.scheduler.claims
    with cell.database.begin() as session:
        late = utcnow() - datetime.timedelta(seconds=RESERVATION_LIFETIME)
        session.execute(sa.update(models.operations).values(created_at=late))
    assert take_up(of(cell, uuid)).step == "prepare"
    assert cell.scheduler.claims[uuid] == "h2"
    del cell.scheduler.claims[uuid]
    cell.scheduler.room["h2"] = 0
    assert take_up(of(cell, uuid)) is None
    assert of(cell, uuid).step == "discard"
    assert why_undone(cell, uuid) == "no room on h2"


def test_with_the_scheduler_away_the_end_waits(cell, begin, report):
    uuid = begin(CONFIRM_RESIZE)
    cell.scheduler.away = True
    with pytest.raises(exception.Unavailable):
        report(uuid)
    assert of(cell, uuid).step == "leave"


def last_sent(cell):
    _host, method, told = cell.bus.sent[-1]
    assert method == "run"
    return told["operation"]


def test_the_message_of_a_step_brings_its_lease_and_what_its_host_reads(cell, begin, report):
    cell.notifier.enabled = False
    uuid = begin()
    report(uuid, handover="room")
    send = last_sent(cell)
    assert (send.kind, send.step, send.handover) == (kinds.MIGRATE.name, "send", "room")
    assert send.given.until == lease_until(cell, uuid)
    assert (send.migration.dest_host, send.instance) == ("h2", None)
    report(uuid, handover="offer")
    arrive = last_sent(cell)
    assert (arrive.step, arrive.handover, arrive.instance.uuid) == ("arrive", "offer", uuid)


@pytest.mark.parametrize("why", ["it undoes", "it destroys", "the cell notifies", "forced down"])
def test_a_host_has_to_ask_for_the_lease_of_a_step(cell, begin, report, why):
    cell.notifier.enabled = why == "the cell notifies"
    uuid = begin(REVERT_RESIZE if why == "it destroys" else MIGRATE)
    if why == "forced down":
        with cell.database.begin() as session:
            services.report(session, host="h1", binary=COMPUTE)
            (service,) = services.list_services(session, hosts=["h1"])
            services.update(session, service.uuid, forced_down=True)
    if why == "it undoes":
        report(uuid)
        report(uuid, reason="it broke")
    elif why == "it destroys":
        report(uuid, reason="it broke")
        end_leases(cell)
        cell.sweep()
    else:
        report(uuid)
    told = last_sent(cell)
    assert (told.given, told.migration, told.instance) == (None, None, None)


def lease_until(cell, uuid):
    with cell.database.read() as session:
        mine = models.operations.c.uuid == of(cell, uuid).uuid
        return session.scalar(sa.select(models.operations.c.lease_until).where(mine))


@pytest.fixture
def wait(cell):
    """Put a server on h2 that has waited so many seconds for its user."""

    def wait(seconds=60, *, power_state=states.RUNNING, **values):
        told = {"vm_state": states.RESIZED, "task_state": None, "power_state": power_state}
        instance = an_instance(host="h2", node="h2", **told)
        migration = a_migration(instance_uuid=instance.uuid, status="finished", **values)
        at, c = utcnow() - datetime.timedelta(seconds=seconds), models.migrations.c
        with cell.database.begin() as session:
            instances.create(session, instance)
            migrations.create(session, migration)
            mine = sa.update(models.migrations).where(c.uuid == migration.uuid)
            session.execute(mine.values(updated_at=at))
        return str(instance.uuid)

    return wait


@pytest.mark.parametrize(
    ("seconds", "down", "begins"),
    [(50, (), True), (70, (), False), (0, (), False), (50, ("h1",), True), (50, ("h2",), False)],
)
def test_a_move_that_waits_too_long_is_confirmed_once_while_its_new_host_is_up(
    cell, wait, seconds, down, begins
):
    uuid = wait()
    cell.confirm_seconds, cell.down = seconds, set(down)
    for _ in range(2):
        cell.sweeper(lease_seconds=600).sweep()
    assert sent(cell) == ([("h1", "leave")] if begins else [])
    assert status(cell, uuid) == ("confirming" if begins else "finished")
    if begins:
        action = history(cell, uuid)
        assert (action.action, action.user_id) == ("confirmResize", None)


@pytest.mark.parametrize(
    "values",
    [{"power_state": states.NOSTATE}, {"seconds": 50 + migrations.OLD_COPY.total_seconds() + 5}],
    ids=["its guest is lost", "the database may be an old copy"],
)
def test_a_move_is_not_confirmed_by_itself_where_that_may_cost_the_guest(cell, wait, values):
    wait(**values)
    cell.confirm_seconds = 50
    cell.sweeper(lease_seconds=600).sweep()
    assert sent(cell) == []


def test_moves_that_wait_for_a_host_that_is_down_keep_no_others_waiting(cell, wait):
    for _ in range(100):
        wait(600, dest_host="h7")
    uuid = wait()
    cell.confirm_seconds, cell.down = 50, {"h7"}
    cell.sweeper(lease_seconds=600).sweep()
    assert status(cell, uuid) == "confirming"


def test_a_move_without_another_destination_ends_even_if_a_claim_is_missing(
    cell, begin, report, monkeypatch
):
    def refuse_it(*_arguments, **_named):
        raise exception.Conflict("holds no claim on h1")

    uuid = begin()
    monkeypatch.setattr(cell.scheduler, "select_destinations", refuse_it)
    refuse(cell, report, uuid, "h2")
    assert (of(cell, uuid), status(cell, uuid)) == (None, "error")


def refuse(cell, report, uuid, host):
    """Have the destination refuse the server, and undo what it has of it."""
    assert of(cell, uuid).host == host
    report(uuid, reason="no room")
    assert (of(cell, uuid).step, of(cell, uuid).host) == ("discard", host)
    report(uuid, power_state=states.NOSTATE)


def test_a_destination_that_refuses_is_replaced_until_enough_were_tried(cell, begin, report):
    uuid = begin()
    cell.scheduler.room = dict.fromkeys(("h1", "h2", "h3", "h4", "h5"), 10)
    refuse(cell, report, uuid, "h2")
    assert (of(cell, uuid).step, of(cell, uuid).host) == ("prepare", "h3")
    with cell.database.read() as session:
        moved = migrations.unfinished(session, uuid)
    assert (moved.dest_host, moved.source_host, moved.status) == ("h3", "h1", "migrating")
    refuse(cell, report, uuid, "h3")
    assert cell.notifier.events() == ["instance.resize_prep.error"] * 2
    refuse(cell, report, uuid, "h4")
    assert cell.notifier.events()[2:] == [
        "instance.resize_prep.error",
        "instance.resize_revert.end",
    ]
    assert (of(cell, uuid), status(cell, uuid)) == (None, "error")
    assert (row(cell, uuid).host, history(cell, uuid).message) == ("h1", "no room")


def test_one_that_fails_later_is_not_sent_elsewhere(cell, begin, report):
    uuid = begin()
    report(uuid, handover="room")
    report(uuid, reason="the disk is broken")
    for _ in range(2):
        report(uuid)
    assert (of(cell, uuid), status(cell, uuid)) == (None, "error")
    assert cell.scheduler.asked == []
