"""What hosts report of their builds, and how an instance ends."""

import datetime

import pytest

from roost import exception, states
from roost.conductor.cell.operations.reports import ObservedGuest
from roost.db.cell import actions, builds, guest_config, instances, leases, ports
from roost.db.types import utcnow
from roost.objects import BlockDevice, GuestConfig, NetworkInfo, Operation
from tests.builders import a_pinned_topology, a_selection, a_uuid, a_vif, an_image
from tests.fakes.service_groups import force_down
from tests.operation_rows import a_report, begin_delete
from tests.unit.conductor.test_reschedule import ANY, NETWORKS, get, leaving, under_way


def waiting(cell, **values):
    made = under_way(cell, **values)
    with cell.database.begin() as session:
        instances.update(session, made.uuid, {"task_state": states.SCHEDULING}, expected={})
    return made


def test_a_host_begins_a_build_once(cell):
    made = waiting(cell)
    assert cell.progress.begin_build(made.uuid, "h1", 1)
    assert not cell.progress.begin_build(made.uuid, "h1", 1)


def test_the_event_of_its_begin_has_the_time_of_the_conductor(cell, monkeypatch):
    """As those of the other daemons, so that a history reads in order."""
    made, now = waiting(cell), utcnow()
    hour_ago = cell.database.now() - datetime.timedelta(hours=1)
    monkeypatch.setattr(cell.database, "now", lambda: hour_ago)
    assert cell.progress.begin_build(made.uuid, "h1", 1)
    with cell.database.read() as session:
        event = actions.get(session, made.uuid, "req-1").events[-1]
    assert event.event == "cell-conductor.begin_build"
    assert now <= event.start_time < event.finish_time


@pytest.mark.parametrize(("host", "attempt"), [("h2", 1), ("h1", 2)])
def test_a_build_meant_for_another_host_or_attempt_is_not_begun(cell, host, attempt):
    assert not cell.progress.begin_build(waiting(cell).uuid, host, attempt)


def test_a_message_that_names_resources_which_the_build_has_no_more_begins_nothing(cell):
    made = waiting(cell)
    stale = a_selection("h1", claimed=True, numa_topology=a_pinned_topology(2, 3))
    assert not cell.progress.begin_build(made.uuid, "h1", 1, selection=stale)
    selection = a_selection("h1", claimed=True)
    assert cell.progress.begin_build(made.uuid, "h1", 1, selection=selection)


def test_a_deleted_instance_is_not_begun(cell):
    made = waiting(cell)
    with cell.database.begin() as session:
        instances.mark_deleted(session, made.uuid)
    assert not cell.progress.begin_build(made.uuid, "h1", 1)


def test_a_host_that_is_forced_down_begins_nothing_and_keeps_nothing_that_it_has_begun(cell):
    begun, late = waiting(cell), waiting(cell)
    assert cell.progress.begin_build(begun.uuid, "h1", 1)
    force_down(cell.database, "h1")
    assert not cell.progress.begin_build(late.uuid, "h1", 1)
    assert get(cell, late.uuid).task_state == states.SCHEDULING
    held = [leases.HeldLease(begun.uuid, 1, (states.SPAWNING,))]
    lost = cell.progress.renew_leases("h1", held, ["op"], seconds=30, nothing_else=False)
    assert lost == ([0], ["op"])
    cell.down = {"h1"}
    for _ in range(2):  # the first sweep gives a lease to what never had one
        cell.sweep()
    assert {get(cell, each.uuid).host for each in (begun, late)} == {"h2"}


@pytest.mark.parametrize(("networks", "task"), [([], states.SPAWNING), ([ANY], states.NETWORKING)])
def test_networks_come_first_when_there_are_any(cell, networks, task):
    made = waiting(cell, networks=networks)
    cell.progress.begin_build(made.uuid, "h1", 1)
    assert get(cell, made.uuid).task_state == task


def test_ports_are_given_and_the_guest_is_next(cell):
    made = waiting(cell, networks=[ANY])
    cell.progress.begin_build(made.uuid, "h1", 1)
    info = cell.progress.allocate_networks(made.uuid, "h1", 1)
    assert len(info.vifs) == 1
    assert get(cell, made.uuid).task_state == states.SPAWNING
    assert get(cell, made.uuid).network_info == info


def test_no_ports_for_a_build_that_is_not_wanted(cell):
    made = waiting(cell, networks=[ANY])
    with pytest.raises(exception.Conflict):
        cell.progress.allocate_networks(made.uuid, "h1", 1)
    with cell.database.read() as session:
        assert ports.info(session, made.uuid, networks=NETWORKS).vifs == []


def activate(cell, uuid):
    cell.progress.update(
        uuid,
        {"vm_state": states.ACTIVE, "task_state": None, "power_state": states.RUNNING},
        {"host": "h1", "attempt": 1, "task_state": states.SPAWNING},
        [],
    )


def test_an_active_instance_has_no_build_any_more(cell):
    made = under_way(cell)
    activate(cell, made.uuid)
    assert get(cell, made.uuid).vm_state == states.ACTIVE
    with cell.database.read() as session:
        assert builds.find(session, made.uuid) is None


def test_an_instance_deleted_meanwhile_does_not_become_active(cell):
    made = leaving(cell)
    with pytest.raises(exception.Conflict):
        activate(cell, made.uuid)


def test_interfaces_that_are_as_they_were_change_nothing(cell):
    made = under_way(cell)
    info = NetworkInfo.of(vifs=[a_vif()])
    for _ in range(2):
        cell.progress.update(made.uuid, {"network_info": info}, {"host": "h1"}, [])
        updated, known = get(cell, made.uuid).updated_at, get(cell, made.uuid).network_info
    assert known == info
    cell.progress.update(made.uuid, {"network_info": info}, {"host": "h1"}, [])
    assert get(cell, made.uuid).updated_at == updated
    info.vifs[0].active = False
    cell.progress.update(made.uuid, {"network_info": info}, {"host": "h1"}, [])
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
    cell.progress.update(made.uuid, {"image": image}, {"host": "h1"}, [])
    assert get(cell, made.uuid).root_device_name == name


def test_a_host_may_not_change_what_is_not_its_own(cell):
    with pytest.raises(exception.Invalid, match="project_id"):
        cell.progress.update(under_way(cell).uuid, {"project_id": "mine"}, {}, [])


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
    changes = {"vm_state": states.ACTIVE, "task_state": None}
    cell.progress.update(made.uuid, changes, {"task_state": states.SPAWNING}, [])
    with cell.database.read() as session:
        assert guest_config.find(session, made.uuid).admin_password is None
