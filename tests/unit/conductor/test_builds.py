"""What hosts report of their builds, and how an instance ends."""

import datetime

import pytest

from roost import exception, states
from roost.conductor.cell.operations.reports import ObservedGuest, StepReport
from roost.db.cell import actions, guest_config, instances, operations, ports
from roost.db.types import utcnow
from roost.objects import BlockDevice, GuestConfig, NetworkInfo, Operation
from roost.operations.advance import Outcome
from tests.builders import a_uuid, a_vif, an_image
from tests.fakes.service_groups import force_down
from tests.operation_rows import a_report, begin_delete, put_under
from tests.unit.conductor.test_reschedule import (
    ANY,
    NETWORKS,
    end_leases,
    get,
    leaving,
    of_host,
    under_way,
)


def waiting(cell, **values):
    return under_way(cell, task_state=states.SCHEDULING, **values)


def begin(cell, uuid, host="h1", attempt=1):
    """What a host asks before it begins; return whether it may."""
    asked = of_host(uuid, host, attempt)
    return cell.outcomes.take_up(cell.context, asked, seconds=30) is not None


def test_a_host_begins_a_build_and_may_ask_again_until_that_is_over(cell):
    made = waiting(cell)
    assert [begin(cell, made.uuid) for _ in range(2)] == [True, True]
    with cell.database.read() as session:
        (event,) = actions.get(session, made.uuid, "req-1").events
    assert (event.event, event.details) == ("cell-conductor.begin_build", "on h1")
    activate(cell, made.uuid)
    assert not begin(cell, made.uuid)


def test_the_event_of_its_begin_has_the_time_of_the_conductor(cell, monkeypatch):
    """As those of the other daemons, so that a history reads in order."""
    made, now = waiting(cell), utcnow()
    hour_ago = cell.database.now() - datetime.timedelta(hours=1)
    monkeypatch.setattr(cell.database, "now", lambda: hour_ago)
    assert begin(cell, made.uuid)
    with cell.database.read() as session:
        event = actions.get(session, made.uuid, "req-1").events[-1]
    assert event.event == "cell-conductor.begin_build"
    assert now <= event.start_time < event.finish_time


@pytest.mark.parametrize(("host", "attempt"), [("h2", 1), ("h1", 2)])
def test_a_build_meant_for_another_host_or_attempt_is_not_begun(cell, host, attempt):
    assert not begin(cell, waiting(cell).uuid, host, attempt)


def test_a_deleted_instance_is_not_begun(cell):
    made = waiting(cell)
    destroyed(cell, begin_delete(cell.database, made.uuid))
    assert not begin(cell, made.uuid)


def test_a_host_that_is_forced_down_begins_nothing_and_keeps_nothing_that_it_has_begun(cell):
    begun, late = waiting(cell), waiting(cell)
    assert begin(cell, begun.uuid)
    force_down(cell.database, "h1")
    assert not begin(cell, late.uuid)
    assert get(cell, late.uuid).task_state == states.SCHEDULING
    lost = cell.outcomes.renew("h1", [begun.uuid], seconds=30, nothing_else=False)
    assert lost == [begun.uuid]
    cell.down = {"h1"}
    end_leases(cell)
    cell.sweep()
    assert {get(cell, each.uuid).host for each in (begun, late)} == {"h2"}


@pytest.mark.parametrize(("networks", "task"), [([], states.SPAWNING), ([ANY], states.NETWORKING)])
def test_networks_come_first_when_there_are_any(cell, networks, task):
    made = waiting(cell, networks=networks)
    begin(cell, made.uuid)
    assert get(cell, made.uuid).task_state == task


def test_ports_are_given_and_the_guest_is_next(cell):
    made = waiting(cell, networks=[ANY])
    begin(cell, made.uuid)
    info = cell.interfaces.allocate(made.uuid, "h1", 1)
    assert len(info.vifs) == 1
    assert get(cell, made.uuid).task_state == states.SPAWNING
    assert get(cell, made.uuid).network_info == info


def test_no_ports_for_a_build_that_is_not_wanted(cell):
    made = waiting(cell, networks=[ANY])
    with pytest.raises(exception.Conflict):
        cell.interfaces.allocate(made.uuid, "h1", 1)
    with cell.database.read() as session:
        assert ports.info(session, made.uuid, networks=NETWORKS).vifs == []


def activate(cell, uuid, *, info=None, events=()):
    """What a host reports of a guest that it has spawned."""
    guest = ObservedGuest("h1", states.RUNNING, events=events)
    info = info or NetworkInfo.of(vifs=[])
    cell.outcomes.end(
        cell.context, of_host(uuid), StepReport(guest, Outcome.DONE, network_info=info)
    )


def test_an_active_instance_has_no_build_any_more(cell):
    made = under_way(cell)
    activate(cell, made.uuid)
    assert get(cell, made.uuid).vm_state == states.ACTIVE
    with cell.database.read() as session:
        assert operations.list_under_way(session, made.uuid) == []


def test_an_instance_deleted_meanwhile_does_not_become_active(cell):
    made = leaving(cell)
    with pytest.raises(exception.Conflict):
        activate(cell, made.uuid)


def test_interfaces_that_are_as_they_were_change_nothing(cell):
    made = under_way(cell)
    info = NetworkInfo.of(vifs=[a_vif()])
    for _ in range(2):
        cell.interfaces.write(made.uuid, info, expected={"host": "h1"})
        updated, known = get(cell, made.uuid).updated_at, get(cell, made.uuid).network_info
    assert known == info
    cell.interfaces.write(made.uuid, info, expected={"host": "h1"})
    assert get(cell, made.uuid).updated_at == updated
    info.vifs[0].active = False
    cell.interfaces.write(made.uuid, info, expected={"host": "h1"})
    assert get(cell, made.uuid).updated_at > updated
    assert get(cell, made.uuid).network_info == info


@pytest.mark.parametrize(
    ("root", "name"),
    [
        ({}, "/dev/sda"),
        ({"disk_bus": "ide"}, "/dev/hda"),
        ({"device_name": "vdz"}, "/dev/vdz"),
    ],
)
def test_with_another_image_the_root_disk_is_called_by_the_bus_that_it_is_on_then(cell, root, name):
    disk = BlockDevice.of(source_type="image", boot_index=0, size_mb=1024, **root)
    given = GuestConfig.of(block_devices=[disk])
    made = under_way(cell, provisions=given, root_device_name="/dev/vda")
    image = an_image(properties={"hw_disk_bus": "scsi"})
    activate(cell, made.uuid)
    with cell.database.begin() as session:
        instances.update(session, made.uuid, {"task_state": states.REBUILDING}, expected={})
        put_under(session, instances.get(session, made.uuid))
        rebuild = operations.find(session, made.uuid)
    changes = {"task_state": states.REBUILD_SPAWNING, "image": image}
    cell.outcomes.advance(rebuild, changes)
    assert get(cell, made.uuid).root_device_name == name


def test_a_host_names_only_what_it_may_expect(cell):
    info = NetworkInfo.of(vifs=[])
    with pytest.raises(exception.Invalid, match="project_id"):
        cell.interfaces.write(under_way(cell).uuid, info, expected={"project_id": "mine"})


def destroyed(cell, operation):
    """Report that a host has destroyed its guest."""
    cell.outcomes.end(cell.context, operation, a_report(ObservedGuest(operation.host, None)))


def test_a_deleted_instance_leaves_row_claim_and_ports(cell):
    made = under_way(cell)
    destroyed(cell, begin_delete(cell.database, made.uuid))
    assert get(cell, made.uuid) is None
    assert made.uuid not in cell.scheduler.claims


@pytest.mark.parametrize("change", [{"host": "h2"}, {"uuid": a_uuid()}])
def test_an_instance_that_nobody_deletes_there_is_not_deleted(cell, change):
    """Whoever says that its guest is gone."""
    made = under_way(cell)
    operation = begin_delete(cell.database, made.uuid)
    other = Operation.of(**operation.values() | {"instance": None, "params": None} | change)
    with pytest.raises(exception.Conflict, match="not being deleted"):
        destroyed(cell, other)
    assert get(cell, made.uuid).task_state == states.DELETING
    assert made.uuid in cell.scheduler.claims


def test_the_password_is_forgotten_once_the_guest_has_it(cell):
    made = under_way(cell, provisions=GuestConfig.of(admin_password="secret"))
    activate(cell, made.uuid)
    with cell.database.read() as session:
        assert guest_config.find(session, made.uuid).admin_password is None
