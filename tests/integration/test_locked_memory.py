"""Guests of libvirt whose memory is locked: their processes have it so."""

import pathlib
import re
import sys

import pytest

from roost.compute.virt.driver import GuestResources
from roost.compute.virt.libvirt import probe
from roost.compute.virt.libvirt.driver import LibvirtDriver
from roost.compute.virt.libvirt.elements import parse
from roost.compute.virt.libvirt.settings import LibvirtSettings
from roost.objects import NetworkInfo
from roost.rig.hypervisors import needs
from tests.builders import a_context, a_flavor, an_image, an_instance
from tests.external import memory_locks
from tests.fakes.libvirtd import Libvirtd
from tests.integration.conftest import STATE

MEMORY_MB = 128
pytestmark = pytest.mark.timeout(600)  # libvirt looks at QEMU


@pytest.fixture
def libvirtd(tmp_path):
    """One whose guests may lock memory."""
    needs.check()
    by = [sys.executable, memory_locks.__file__]
    with Libvirtd(tmp_path / "libvirt", STATE / "libvirt", by=by) as made:
        yield made


@pytest.fixture
def driver(libvirtd, tmp_path):
    folder = tmp_path / "instances"
    return LibvirtDriver(
        LibvirtSettings(node="h1", folder=folder, uri=libvirtd.uri, virt_type="qemu")
    )


@pytest.fixture
def spawn(driver, tmp_path):
    """Spawn a guest whose flavor has extra specs, and return its uuid."""
    path = tmp_path / "sector.img"
    path.write_bytes(probe.disk(rounds=1))

    def spawn(**words):
        instance = an_instance(
            flavor=a_flavor(memory_mb=MEMORY_MB, extra_specs=words),
            image=an_image(size=path.stat().st_size, disk_format="raw"),
        )
        driver.spawn(
            a_context(),
            instance,
            image_path=path,
            network_info=NetworkInfo.of(vifs=[]),
            resources=GuestResources(),
        )
        return instance.uuid

    return spawn


@pytest.mark.parametrize("asked", [True, False])
def test_memory_is_locked_where_it_is_asked_for_and_nowhere_else(driver, spawn, libvirtd, asked):
    uuid = spawn(**{"hw:mem_page_size": "small", "hw:locked_memory": str(asked)})
    domain = driver._on(uuid, "describe a guest", lambda domain: parse(domain.XMLDesc()))
    assert (domain.find("memoryBacking/locked") is not None) == asked
    assert (locked_mb(libvirtd, uuid) >= MEMORY_MB) == asked
    driver.destroy(uuid)


def locked_mb(libvirtd, uuid):
    """Return how much of a guest's QEMU is always in memory."""
    (pid,) = [pid for name, pid in libvirtd.guests().items() if uuid in name]
    said = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmLck:\s+(\d+) kB", said)[1]) / 1024
