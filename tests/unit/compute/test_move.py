"""The steps of a move between two hosts, on one of them."""

import json

import pytest

from roost import exception, states
from roost.objects import BlockDevice, GuestConfig
from roost.operations.kinds import CONFIRM_RESIZE, EVACUATE, MIGRATE, REVERT_RESIZE
from tests.builders import a_migration

MIB = 1024**2


@pytest.fixture
def server(rig, boot):
    instance = rig.instance(networks=[])
    boot(rig.manager(), instance)
    instance.vm_state, instance.power_state = states.ACTIVE, states.RUNNING
    return instance


@pytest.fixture
def send(server, do_step):
    """Have the host send the server to another host with this room, and return why it did not."""
    migration = a_migration(instance_uuid=server.uuid, source_host="h1", dest_host="h2")

    def send(room):
        row = {"migration": migration, "handover": json.dumps({"file": str(room)})}
        return do_step(server, "send", kind=MIGRATE, **row)["reason"]

    return send


@pytest.mark.parametrize("before", [states.RUNNING, states.SHUTDOWN])
@pytest.mark.parametrize("now", [states.RUNNING, states.NOSTATE])
def test_a_guest_that_comes_back_runs_as_it_did_before_whatever_it_does_now(
    rig, server, do_step, before, now
):
    rig.virt.power_off(server.uuid)
    server.vm_state, server.power_state = states.RESIZED, now
    moved = a_migration(
        instance_uuid=server.uuid, source_host="h1", dest_host="h2", power_before=before
    )
    do_step(server, "stay", kind=REVERT_RESIZE, migration=moved)
    assert rig.virt.describe(server.uuid).power_state == before


def test_a_guest_is_stopped_only_if_it_can_move(rig, server, send, tmp_path):
    room = tmp_path / "room"
    rig.trouble({"step": "power", "kind": "final", "message": "it was stopped"})
    assert send(room) == f"There is no room for the guest {server.uuid} any more."
    room.touch()
    assert send(room) == "power: it was stopped"


@pytest.mark.parametrize("power", [states.RUNNING, states.SHUTDOWN])
def test_a_guest_whose_host_is_gone_is_created_from_its_image_which_its_history_says(
    rig, do_step, power
):
    server = rig.instance(networks=[])
    migration = a_migration(
        instance_uuid=server.uuid, source_host="h2", dest_host="h1", power_before=power
    )
    for _ in range(2):  # its report may be lost
        ended = do_step(server, "revive", kind=EVACUATE, migration=migration)
        assert (ended["reason"], ended["power_state"]) == (None, power)
    (event,) = ended["events"]
    assert (event.event, event.details) == (
        *("compute.revive", "Its disks were on h2 alone: they are lost."),
    )
    assert rig.virt.list_guests() == [server.uuid]


@pytest.fixture
def unreachable(rig, monkeypatch):
    """Have a method of the hypervisor fail so often, a second each, as that is unreachable."""

    def unreachable(name, times):
        real, left = getattr(rig.virt, name), [times]

        def call(*args, **kwargs):
            left[0] -= 1
            if left[0] >= 0:
                rig.clock.advance(1)
                raise exception.Unavailable("libvirt cannot be reached to stop a guest.")
            return real(*args, **kwargs)

        monkeypatch.setattr(rig.virt, name, call)

    return unreachable


def test_a_hypervisor_that_is_back_soon_costs_no_move(rig, server, send, unreachable, tmp_path):
    (tmp_path / "room").touch()
    unreachable("power_off", 2)
    assert send(tmp_path / "room") is None
    assert rig.virt.describe(server.uuid).power_state == states.SHUTDOWN


def test_a_guest_that_is_to_leave_is_gone_when_the_hypervisor_is_back(
    rig, server, do_step, unreachable
):
    migration = a_migration(instance_uuid=server.uuid, source_host="h1", dest_host="h2")
    unreachable("destroy", 2)
    assert do_step(server, "leave", kind=CONFIRM_RESIZE, migration=migration)["reason"] is None
    assert rig.virt.list_guests() == []


def test_a_hypervisor_that_stays_away_ends_the_step(send, unreachable, tmp_path):
    (tmp_path / "room").touch()
    unreachable("power_off", 10_000)
    assert send(tmp_path / "room") == "A part of the cloud could not be reached."


@pytest.fixture
def arrive(rig, do_step, monkeypatch, tmp_path):
    """Have a server arrive with a disk of 400 MiB, which takes three seconds per quarter.

    Each report of that gets the next of these errors; return the reports, and that of the step.
    """

    def arrive(*errors):
        disk = BlockDevice.of(source_type="image", boot_index=0, size_mb=400, guest_format=None)
        server = rig.instance(networks=[], provisions=GuestConfig.of(block_devices=[disk]))
        errors, reports = list(errors), []

        def advance(_context, *, operation, changes):
            reports.append((operation.step, *(size // MIB for size in changes.values())))
            if errors:
                raise errors.pop(0)

        monkeypatch.setattr(rig.conductor, "advance_operation", advance)
        monkeypatch.setattr(rig.virt._faults, "_sleep", rig.clock.advance)
        monkeypatch.setattr(rig.leases, "_seconds", 3600.0)
        migration = a_migration(instance_uuid=server.uuid, source_host="h2", dest_host="h1")
        do_step(server, "prepare", kind=MIGRATE, migration=migration)
        rig.trouble({"step": "copy", "delay": 3.0})
        (tmp_path / "sent").write_text("{}")
        offer = json.dumps({"file": str(tmp_path / "sent")})
        return reports, do_step(server, "arrive", kind=MIGRATE, migration=migration, handover=offer)

    return arrive


@pytest.mark.parametrize("errors", [(), (exception.Unavailable("no conductor"),)])
def test_a_host_reports_now_and_then_how_much_is_copied(arrive, errors):
    reports, end = arrive(*errors)
    assert reports == [("arrive", 400, 200), ("arrive", 400, 400)]
    assert end["reason"] is None


def test_a_copy_that_nobody_waits_for_ends(rig, arrive):
    reports, end = arrive(exception.Conflict("the server is being deleted"))
    assert (len(reports), end, rig.virt.list_guests()) == (1, None, [])


def test_a_guest_that_stays_is_what_it_was_whichever_host_has_reshaped_it(rig, server, do_step):
    moves = rig.virt.cold_moves()
    kept, guest = moves._before(server.uuid), moves._guests.file(server.uuid)
    kept.write_text(json.dumps(json.loads(guest.read_text()) | {"memory_mb": 77}))
    migration = a_migration(instance_uuid=server.uuid, source_host="h1", dest_host="h2")
    assert do_step(server, "stay", kind=MIGRATE, migration=migration)["reason"] is None
    assert (rig.virt.describe(server.uuid).memory_mb, kept.exists()) == (77, False)
    assert rig.virt.describe(server.uuid).power_state == states.RUNNING
