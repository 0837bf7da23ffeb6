"""Which daemon of its name a host is, over restarts, kills and copies."""

import shutil

import pytest

from roost import exception
from roost.compute.host_identity import HostIdentity


def started(folder, *, heard=True):
    path = HostIdentity(folder)
    told = path.told()
    if heard:
        path.confirm()
    return told


def test_each_start_is_another_one_of_the_same_state_path(tmp_path):
    first, second = started(tmp_path / "h1"), started(tmp_path / "h1")
    assert first["state_id"] == second["state_id"]
    assert (first["starts"], second["starts"]) == (1, 2)
    assert first["run_id"] != second["run_id"]


def test_a_start_that_nobody_has_heard_of_is_told_again(tmp_path):
    assert started(tmp_path, heard=False) == started(tmp_path, heard=False)
    assert started(tmp_path)["starts"] == 1


def test_a_running_daemon_says_the_same_again_and_again(tmp_path):
    path = HostIdentity(tmp_path)
    told = path.told()
    path.confirm()
    assert path.told() == told


def test_an_empty_one_is_a_stranger_and_a_copy_is_a_twin(tmp_path):
    mine = started(tmp_path / "h1")
    assert started(tmp_path / "empty")["state_id"] != mine["state_id"]
    shutil.copytree(tmp_path / "h1", tmp_path / "copy")
    one, other = started(tmp_path / "h1"), started(tmp_path / "copy")
    assert (one["starts"], one["state_id"]) == (other["starts"], other["state_id"])
    assert one["run_id"] != other["run_id"]


def test_of_two_daemons_on_one_state_path_the_second_is_refused_while_the_first_lives(tmp_path):
    first, second = HostIdentity(tmp_path / "h1"), HostIdentity(tmp_path / "h1")
    first.hold()
    first.hold()
    with pytest.raises(exception.Conflict, match="Another roost-compute runs on"):
        second.hold()
    first.close()
    second.hold()
    second.close()


def test_a_host_that_its_cell_does_not_know_does_nothing(rig, tmp_path):
    rig.conductor.fail("report_service", exception.Conflict("another state path"))
    manager = rig.manager(state=HostIdentity(tmp_path / "state"))
    with pytest.raises(exception.Conflict):
        manager.start()
    assert (rig.conductor.renewals, rig.conductor.findings) == ([], [])
    manager.start()
