"""A libvirtd of our own, as far as it is files; it is started by the integration tests."""

import os

import pytest

from roost.rig.hypervisors.libvirtd import Libvirtd


@pytest.fixture
def libvirtd(tmp_path):
    return Libvirtd(tmp_path / "host", tmp_path / "cache")


def test_each_one_says_that_it_is_another_host(libvirtd, tmp_path):
    other = Libvirtd(tmp_path / "other", tmp_path / "cache")
    confs = [(tmp_path / name / "etc/libvirtd.conf").read_text() for name in ("host", "other")]
    assert libvirtd.uri != other.uri
    assert all(str(tmp_path / "host") in conf for conf in confs[:1])
    assert len({line for conf in confs for line in conf.splitlines() if "uuid" in line}) == 2


def test_guests_are_those_whose_process_lives(libvirtd, tmp_path):
    folder = tmp_path / "host/run/qemu"
    folder.mkdir()
    (folder / "roost-1.pid").write_text(f"{os.getpid()}\n")
    (folder / "roost-2.pid").write_text(f"{2**22 + 1}\n")  # more than the kernel gives
    (folder / "other.pid").write_text(f"{os.getpid()}\n")
    assert libvirtd.guests() == {"roost-1": os.getpid()}
