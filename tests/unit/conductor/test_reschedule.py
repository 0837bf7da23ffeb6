"""A build that failed on one host: the next one, or the end."""

import contextlib
import datetime

import pytest
import sqlalchemy as sa

from roost import exception, states
from roost.conductor.cell.operations.reports import ObservedGuest, StepReport
from roost.db.cell import actions, faults, instances, models, operations, ports
from roost.db.types import utcnow
from roost.networks import parse
from roost.objects import (
    GuestConfig,
    InjectedFile,
    NetworkRequest,
    OperationParams,
    TriedHost,
)
from roost.operations.advance import Outcome
from roost.operations.kinds import BUILD
from tests.builders import (
    CELL1,
    a_pci_allocation,
    a_pinned_topology,
    a_selection,
    a_spec,
    an_instance,
)
from tests.operation_rows import a_build, begin_delete
from tests.unit.db.test_cell import an_action, an_event

NETWORKS = parse(["private=10.0.0.0/29"])
ANY = NetworkRequest.of(network_id=None, fixed_ip=None, port_id=None, tag=None)


def under_way(cell, *, alternates=("h2", "h3"), attempt=1, host="h1", tried=(), **values):
    """An instance that h1 is building."""
    made = an_instance(
        **{"host": host, "node": host, "attempt": attempt, "task_state": states.SPAWNING} | values
    )
    params = OperationParams.of(
        spec=a_spec(),
        selection=a_selection(host, claimed=True),
        alternates=[a_selection(name) for name in alternates],
        tried=[TriedHost.of(host=name, node=None, reason="no luck") for name in tried],
    )
    with cell.database.begin() as session:
        instances.create(session, made)
        begun = [(a_build(made, params=params), "req-1")]
        operations.start_builds(session, begun, now=cell.database.now())
        actions.start(session, an_action(made.uuid), operation_uuid=made.uuid)
    cell.scheduler.claims[made.uuid] = host
    return made


def leaving(cell, **values):
    """The same, which its user has deleted meanwhile."""
    made = under_way(cell, **values)
    begin_delete(cell.database, made.uuid)
    return made


def fail(cell, uuid, host="h1", attempt=1, reason="disk on fire", shown=None):
    """What a host reports that gives up a build."""
    guest = ObservedGuest(host, None, events=[an_event(result="Error")], reason=shown)
    report = StepReport(guest, Outcome.FAILED, details=reason)
    with contextlib.suppress(exception.Conflict):  # it is over, as a host understands that
        cell.outcomes.end(cell.context, of_host(uuid, host, attempt), report)


def give_up(cell, uuid, reason):
    """What a host reports whose build would fail on every other one."""
    report = StepReport(ObservedGuest("h1", None, reason=reason), Outcome.SPOILT)
    cell.outcomes.end(cell.context, of_host(uuid), report)


def of_host(uuid, host="h1", attempt=1):
    """Return the build of an instance as that host names it."""
    return a_build(an_instance(uuid=uuid, host=host, attempt=attempt))


def end_leases(cell):
    """As if it had been long ago that anybody renewed one."""
    past = utcnow() - datetime.timedelta(seconds=60)
    with cell.database.begin() as session:
        session.execute(sa.update(models.operations).values(lease_until=past))


def get(cell, uuid):
    with cell.database.read() as session:
        return instances.find(session, uuid)


def row(cell, uuid):
    with cell.database.read() as session:
        return operations.find_build(session, uuid)


def fault(cell, uuid):
    with cell.database.read() as session:
        return faults.latest(session, [uuid])[uuid].message


def details(cell, uuid):
    with cell.database.read() as session:
        return faults.latest(session, [uuid])[uuid].details


def test_a_failed_build_goes_on_to_the_next_alternate(cell):
    made = under_way(cell)
    fail(cell, made.uuid)
    found = get(cell, made.uuid)
    assert (found.host, found.attempt, found.task_state) == ("h2", 2, states.SCHEDULING)
    assert cell.scheduler.claims[made.uuid] == "h2"
    assert [sent[:2] for sent in cell.bus.sent] == [("h2", "build_and_run_instance")]


def test_the_next_host_is_told_what_the_guest_is_provided_with(cell):
    given = GuestConfig.of(files=[InjectedFile.of(path="/a", contents="")], admin_password="secret")
    made = under_way(cell, provisions=given)
    fail(cell, made.uuid)
    ((_host, _method, told),) = cell.bus.sent
    assert told["instance"].provisions == given


def test_the_next_host_is_told_the_resources_that_were_claimed_there(cell):
    made = under_way(cell)
    selection = a_selection(
        "h2",
        claimed=True,
        limits={"vcpus": 8},
        numa_topology=a_pinned_topology(2, 3),
        pci=[a_pci_allocation()],
        availability_zone="east",
    )
    cell.scheduler.selections["h2"] = selection
    fail(cell, made.uuid)
    ((_host, _method, told),) = cell.bus.sent
    assert told["selection"] == selection
    for instance in (get(cell, made.uuid), told["instance"]):
        assert (instance.numa_topology, instance.pci) == (selection.numa_topology, selection.pci)
        assert instance.availability_zone == "east"
    assert row(cell, made.uuid).params.selection == selection


def test_an_alternate_without_room_is_passed_over(cell):
    made = under_way(cell)
    cell.scheduler.room["h2"] = 0
    fail(cell, made.uuid)
    assert get(cell, made.uuid).host == "h3"


def test_with_alternates_used_up_the_scheduler_is_asked_for_this_cell_only(cell):
    made = under_way(cell, alternates=())
    fail(cell, made.uuid)
    ((spec, uuids),) = cell.scheduler.asked
    assert (spec.requested_cell, spec.ignore_hosts, uuids) == (CELL1, ["h1"], [made.uuid])
    assert get(cell, made.uuid).host == "h2"


def test_attempts_used_up_end_in_error_with_every_host_and_reason(cell):
    made = under_way(cell)
    fail(cell, made.uuid, "h1", 1, "disk on fire")
    for attempt, host in ((2, "h2"), (3, "h3")):
        fail(cell, made.uuid, host, attempt, f"{host} fell over")
    found = get(cell, made.uuid)
    assert (found.vm_state, found.task_state, found.host) == (states.ERROR, None, None)
    assert found.availability_zone is None
    assert fault(cell, made.uuid) == (
        "No valid host was found. Exceeded maximum number of attempts: 3 hosts were tried."
    )
    for told in ("h1: disk on fire", "h2: h2 fell over", "h3: h3 fell over"):
        assert told in details(cell, made.uuid)
    assert made.uuid not in cell.scheduler.claims


def test_no_host_left_ends_in_error_with_the_schedulers_reason(cell):
    made = under_way(cell, alternates=())
    cell.scheduler.room = {"h1": 5}
    fail(cell, made.uuid)
    assert get(cell, made.uuid).vm_state == states.ERROR
    assert "No valid host" in fault(cell, made.uuid)
    assert fault(cell, made.uuid).endswith(". 1 host was tried before.")
    assert "h1: disk on fire" in details(cell, made.uuid)
    assert made.uuid not in cell.scheduler.claims


@pytest.mark.parametrize("room", [{"h1": 5}, {"h2": 5, "h3": 5}])
def test_the_user_reads_the_reason_before_that_there_is_no_other_host(cell, room):
    made = under_way(cell, alternates=())
    cell.scheduler.room = room
    for attempt, host in enumerate(("h1", *room), 1):
        fail(cell, made.uuid, host, attempt, f"{host} is full", "No room for the image.")
    begin = "No valid host was found. No room for the image. "
    assert fault(cell, made.uuid).startswith(begin)
    assert fault(cell, made.uuid).count("No valid host") == 1
    assert fault(cell, made.uuid).count("No room") == 1
    assert "h1 is full" in details(cell, made.uuid)


def test_a_failure_that_no_host_cures_ends_in_error_at_once(cell):
    made = under_way(cell)
    give_up(cell, made.uuid, "image is corrupt")
    assert get(cell, made.uuid).vm_state == states.ERROR
    assert fault(cell, made.uuid) == "Build failed: image is corrupt"
    assert details(cell, made.uuid) == "Build failed: h1: image is corrupt"
    assert cell.bus.sent == []
    assert made.uuid not in cell.scheduler.claims


def test_a_build_that_ends_in_error_leaves_no_ports_and_no_build(cell):
    made = under_way(cell, networks=[ANY])
    with cell.database.begin() as session:
        ports.allocate(
            session,
            instance_uuid=made.uuid,
            host="h1",
            requests=[ANY],
            networks=NETWORKS,
        )
    give_up(cell, made.uuid, "no")
    with cell.database.read() as session:
        assert ports.info(session, made.uuid, networks=NETWORKS).vifs == []
        assert operations.list_under_way(session, made.uuid) == []


def test_a_failure_that_no_host_cures_stays_one_when_the_scheduler_is_away(cell):
    made = under_way(cell)
    cell.scheduler.away = True
    give_up(cell, made.uuid, "image is corrupt")
    assert get(cell, made.uuid).vm_state == states.BUILDING
    cell.scheduler.away = False
    end_leases(cell)
    cell.sweep()
    assert fault(cell, made.uuid) == "Build failed: image is corrupt"
    assert cell.bus.sent == []


def test_a_doubled_message_moves_a_build_once(cell):
    made = under_way(cell)
    fail(cell, made.uuid)
    fail(cell, made.uuid)
    assert get(cell, made.uuid).attempt == 2
    assert len(cell.bus.sent) == 1
    assert cell.scheduler.claims[made.uuid] == "h2"


def test_a_late_message_of_an_earlier_attempt_changes_nothing(cell):
    made = under_way(cell, attempt=2, host="h2")
    fail(cell, made.uuid, "h1", 1)
    assert get(cell, made.uuid).host == "h2"
    assert cell.bus.sent == []


def test_an_instance_deleted_before_its_failure_is_not_moved(cell):
    made = under_way(cell)
    begin_delete(cell.database, made.uuid)
    fail(cell, made.uuid)
    assert get(cell, made.uuid).host == "h1"
    assert cell.bus.sent == []


def test_an_instance_deleted_while_it_moves_keeps_no_claim(cell):
    made = under_way(cell)
    move = cell.scheduler.move_claim

    def delete_now(*args, **kwargs):
        begin_delete(cell.database, made.uuid)
        return move(*args, **kwargs)

    cell.scheduler.move_claim = delete_now
    fail(cell, made.uuid)
    assert get(cell, made.uuid).host == "h1"
    assert made.uuid not in cell.scheduler.claims


def meanwhile(cell, act):
    """Let something happen while a claim is being moved."""
    move = cell.scheduler.move_claim

    def interrupted(*args, **kwargs):
        cell.scheduler.move_claim = move
        act()
        return move(*args, **kwargs)

    cell.scheduler.move_claim = interrupted


def test_a_slow_conductor_leaves_the_claim_where_a_faster_one_put_the_instance(cell):
    made = under_way(cell)

    def be_faster():
        cell.builds.place(cell.context, row(cell, made.uuid))
        fail(cell, made.uuid, "h2", 2)

    meanwhile(cell, be_faster)
    fail(cell, made.uuid)
    assert get(cell, made.uuid).host == cell.scheduler.claims[made.uuid] == "h3"
    assert [host for host, _, _ in cell.bus.sent] == ["h2", "h3"]


def test_with_the_scheduler_away_an_end_in_error_waits_or_its_claim_would_be_left(cell):
    made = under_way(cell, tried=("h2", "h3"))
    cell.scheduler.away = True
    fail(cell, made.uuid)
    assert get(cell, made.uuid).vm_state == states.BUILDING
    cell.scheduler.away = False
    end_leases(cell)
    cell.sweep()
    assert get(cell, made.uuid).vm_state == states.ERROR
    assert cell.scheduler.claims == {}


def test_a_conductor_that_gives_up_late_takes_nothing_from_a_build_that_has_a_host_by_now(cell):
    made = under_way(cell, alternates=())
    ports = FreedPorts()
    cell.outside_ports = ports
    cell.scheduler.room = {"h1": 1, "h2": 1}
    choose = cell.scheduler.select_destinations

    def be_slow(*args, **kwargs):
        cell.scheduler.select_destinations = choose
        cell.builds.place(cell.context, row(cell, made.uuid))
        cell.scheduler.room = {"h1": 1}
        return choose(*args, **kwargs)

    cell.scheduler.select_destinations = be_slow
    fail(cell, made.uuid)
    assert get(cell, made.uuid).host == "h2"
    assert (cell.scheduler.claims, ports.freed) == ({made.uuid: "h2"}, [])


class FreedPorts:
    def __init__(self):
        self.freed = []

    def free(self, uuid):
        self.freed.append(uuid)


@pytest.mark.parametrize("tries", [0, BUILD.tries, 100])
def test_a_build_that_nobody_places_is_placed_by_the_next_sweep_however_often_it_was_restarted(
    cell, tries
):
    made = under_way(cell)
    cell.scheduler.away = True
    fail(cell, made.uuid)
    cell.scheduler.away = False
    with cell.database.begin() as session:
        session.execute(sa.update(models.operations).values(tries=tries))
    end_leases(cell)
    cell.sweep()
    assert get(cell, made.uuid).host == "h2"


def test_a_slow_conductor_that_gives_up_leaves_the_claim_of_one_that_did_not(cell):
    made = under_way(cell, alternates=())
    cell.scheduler.room = {"h1": 1, "h2": 0}
    release = cell.scheduler.release_claims

    def find_room(*args, **kwargs):
        cell.scheduler.release_claims = release
        cell.scheduler.room["h2"] = 1
        cell.builds.place(cell.context, row(cell, made.uuid))
        release(*args, **kwargs)

    cell.scheduler.release_claims = find_room
    fail(cell, made.uuid)
    assert get(cell, made.uuid).host == "h2"
    assert cell.scheduler.claims == {made.uuid: "h2"}
