"""Guests of libvirt in a deployment: booted through the API, and left alone by whatever dies."""

import os
import pathlib
import signal
import time

import pytest
import requests

from roost import conf, exception
from roost.compute.virt.libvirt.driver import LibvirtDriver
from roost.compute.virt.libvirt.settings import LibvirtSettings
from roost.rig.embedded import EmbeddedRig
from roost.rig.hypervisors import linux_guest
from tests.stories.cloud import wait_until
from tests.stories.power import wait_at_rest
from tests.stories.real_guests import BOOTED, cloud_of, console, wait_until_it_says

pytestmark = pytest.mark.timeout(600)  # the first one makes a guest, and libvirt looks at QEMU
SOON = 10.0  # seconds: within one, on a machine that has nothing else to do
HOST = "cell1-host1"


@pytest.fixture(scope="module")
def cloud(libvirtd, linux_image, tmp_path_factory):
    """One host of libvirt, with the image of a Linux."""
    rig = EmbeddedRig(
        tmp_path_factory.mktemp("rig"),
        cells=1,
        hosts=1,
        overrides={
            # what a guest does by itself is told of, as nobody looks
            "compute": {
                "virt_driver": "libvirt",
                "reconcile_interval": 0,
                "compute_monitors": "cpu.virt_driver",
            },
            "scheduler": {
                "filters": ",".join([*conf.of({}).scheduler.filters, "metrics"]),
                "metrics_weights": "cpu.percent=-1",
            },
            "libvirt": {
                "connection_uri": libvirtd.uri,
                "virt_type": "qemu",
                "shutdown_timeout": 60.0,
            },
        },
    )
    with cloud_of(rig, libvirtd, linux_image) as cloud:
        yield cloud


def act(cloud, server_id, action, argument=None):
    answer = requests.post(
        f"{cloud.client.endpoint}/servers/{server_id}/action", json={action: argument}, timeout=30
    )
    answer.raise_for_status()
    return answer


@pytest.fixture(scope="module")
def server(cloud):
    """A server whose Linux is up: half a minute, as its CPU is emulated and its disk made."""
    (server_id,) = cloud.boot(config_drive=True)
    cloud.wait([server_id], "ACTIVE")
    wait_until_it_says(cloud, server_id, linux_guest.READY)
    return server_id


def pid_of(libvirtd, server_id):
    return libvirtd.guests()[f"instance-{server_id}"]


def test_a_guest_reads_who_it_is_from_its_config_drive(cloud, server):
    assert f"guest: config drive of {server}" in console(cloud, server)
    assert "guest: boot 1\n" in console(cloud, server)


def test_a_killed_compute_finds_its_guest_as_it_left_it(cloud, libvirtd, server):
    before = pid_of(libvirtd, server)
    with cloud.without(HOST):
        assert pid_of(libvirtd, server) == before
    cloud.wait([server], "ACTIVE")
    assert pid_of(libvirtd, server) == before


@pytest.mark.soak
def test_a_killed_libvirtd_touches_no_guest_and_is_found_again(cloud, libvirtd, server):
    before = pid_of(libvirtd, server)
    libvirtd.kill()
    assert pid_of(libvirtd, server) == before
    libvirtd.start()
    assert "guest: boot 1\n" in console(cloud, server)
    assert (cloud.show(server)["status"], pid_of(libvirtd, server)) == ("ACTIVE", before)


def test_a_soft_reboot_asks_the_guests_own_system_and_keeps_its_disk(cloud, server):
    act(cloud, server, "reboot", {"type": "SOFT"})
    wait_until_it_says(cloud, server, "guest: boot 2\n")
    assert "guest: ends" in console(cloud, server)
    cloud.wait([server], "ACTIVE")


@pytest.mark.soak
def test_a_suspended_guest_goes_on_where_it_was(cloud, libvirtd, server):
    act(cloud, server, "suspend")
    wait_at_rest(cloud, server, "SUSPENDED")
    assert f"instance-{server}" not in libvirtd.guests()
    said = console(cloud, server)
    act(cloud, server, "resume")
    wait_at_rest(cloud, server, "ACTIVE")
    assert pid_of(libvirtd, server)
    assert console(cloud, server).startswith(said)
    assert "guest: boot 3\n" not in console(cloud, server)


@pytest.mark.soak
def test_a_server_made_of_a_snapshot_has_what_was_on_the_disk(cloud, server):
    act(cloud, server, "createImage", {"name": "of-a-running-one"})
    image = wait_until(lambda: active_image(cloud, "of-a-running-one"), "an image", BOOTED)
    wait_at_rest(cloud, server, "ACTIVE")
    (copy,) = cloud.boot(imageRef=image["id"])
    cloud.wait([copy], "ACTIVE")
    wait_until_it_says(cloud, copy, linux_guest.READY)
    assert "guest: boot 3\n" in console(cloud, copy)
    cloud.client.delete_server(copy)
    cloud.wait_gone([copy])


def active_image(cloud, name):
    found = (image for image in cloud.client.images() if image["name"] == name)
    return next((image for image in found if image["status"] == "active"), None)


@pytest.mark.soak
def test_a_guest_that_ends_by_itself_is_seen_at_once(cloud, libvirtd, server):
    os.kill(pid_of(libvirtd, server), signal.SIGKILL)
    began = time.monotonic()
    wait_until(lambda: cloud.show(server)["status"] == "SHUTOFF", "it is seen")
    assert time.monotonic() - began < SOON


@pytest.fixture
def driver(libvirtd, tmp_path):
    settings = LibvirtSettings(
        node="h2",
        folder=tmp_path / "instances",
        uri=libvirtd.uri,
        monitors=("cpu.virt_driver",),
    )
    return LibvirtDriver(settings)


@pytest.mark.soak
def test_kvm_is_taken_only_if_a_guest_runs_with_it(driver, tmp_path):
    assert driver.resources().hypervisor_type == "QEMU"
    virt_type = driver._node.known().virt_type
    assert virt_type in ("kvm", "qemu")
    if not pathlib.Path("/dev/kvm").exists():
        assert virt_type == "qemu"
    assert [*(tmp_path / "instances").glob("probe*")] == []
    collect = {name: one.collect for name, one in driver.collectors().items()}
    found, has = {name: collect[name]() for name in ("node", "disk")}, driver.resources()
    assert (found["node"].vcpus, found["node"].memory_mb) == (has.vcpus, has.memory_mb)
    assert found["node"].numa_cells == has.numa_cells
    assert found["disk"].disk_gb == has.disk_gb


@pytest.mark.soak
def test_while_libvirtd_is_away_nobody_says_that_there_are_no_guests(driver, libvirtd):
    libvirtd.kill()
    try:
        with pytest.raises(exception.Unavailable, match="libvirt cannot be reached"):
            driver.list_guests()
    finally:
        libvirtd.start()
    assert isinstance(driver.list_guests(), list)
