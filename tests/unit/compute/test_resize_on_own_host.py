"""The steps of a resize on the host that the server is on: its guest, and what the host counts."""

import pathlib

import pytest

from roost import states
from roost.operations.kinds import RESIZE, REVERT_RESIZE
from tests.builders import a_context, a_flavor, a_migration, an_image

OLD, NEW = a_flavor(memory_mb=1024), a_flavor(flavorid="2", vcpus=2, memory_mb=2048)


@pytest.fixture
def server(rig, boot):
    instance = rig.instance(flavor=OLD, networks=[])
    boot(rig.manager(), instance)
    instance.vm_state, instance.power_state = states.ACTIVE, states.RUNNING
    return instance


@pytest.fixture
def do(server, do_step):
    """Do steps of a move of the server, as their messages say, and return why one failed."""
    migration = a_migration(
        instance_uuid=server.uuid,
        source_host="h1",
        dest_host="h1",
        old_flavor=OLD,
        new_flavor=NEW,
    )

    def do(*steps, kind=RESIZE):
        reports = [do_step(server, step, kind=kind, migration=migration) for step in steps]
        return [one["reason"] for one in reports if one["reason"] is not None]

    return do


def counted(rig, server):
    return rig.tracker.claims[server.uuid].amounts.memory_mb


def guest(rig, server):
    return rig.virt.contents(server.uuid)


def test_it_has_the_new_flavor_and_reverted_the_old_one(rig, server, do):
    assert do("prepare", "send", "arrive") == []
    assert (guest(rig, server)["memory_mb"], guest(rig, server)["power_state"]) == (2048, 1)
    assert counted(rig, server) == 2048
    assert do("withdraw", "stay", kind=REVERT_RESIZE) == []
    assert (guest(rig, server)["memory_mb"], guest(rig, server)["power_state"]) == (1024, 1)
    assert counted(rig, server) == 1024


def test_a_daemon_that_starts_again_in_the_middle_counts_the_new_flavor(rig, server, do):
    do("prepare", "send")
    rig.tracker.fill([server])  # its row has the old flavor
    assert do("arrive") == []
    assert counted(rig, server) == 2048


def test_one_that_starts_again_in_the_middle_of_a_revert_counts_the_old_flavor(rig, server, do):
    do("prepare", "send", "arrive")
    server.flavor, server.vm_state = NEW, states.RESIZED
    do("withdraw", kind=REVERT_RESIZE)
    rig.tracker.fill([server])  # its row has the new flavor until the revert ends
    assert do("stay", kind=REVERT_RESIZE) == []
    assert counted(rig, server) == 1024


def test_a_guest_that_is_lost_is_reverted_to_what_it_was(rig, server, do):
    do("prepare", "send", "arrive")
    rig.virt._file(server.uuid).unlink()
    assert do("withdraw", "stay", kind=REVERT_RESIZE) == []
    assert (guest(rig, server)["memory_mb"], guest(rig, server)["power_state"]) == (1024, 1)


def test_a_repeated_step_leaves_a_guest_alone_that_runs_with_its_new_flavor(rig, server, do):
    do("prepare", "send", "arrive")
    before = guest(rig, server) | {"written": "by the guest"}
    rig.virt._write(server.uuid, before)
    assert do("arrive") == []
    assert guest(rig, server) == before


def test_a_rescued_guest_stays_as_it_is_even_if_its_row_does_not_say_so(rig, server, do):
    rig.virt.rescue(
        a_context(), server, image=an_image(), image_path=pathlib.Path("rescue"), password=None
    )
    assert do("prepare", "send") == ["The guest is rescued: unrescue the server first."]
    assert do("stay") == []
    assert "rescued_from" in guest(rig, server)
