"""Guests of libvirt on bridges: they have the addresses that the API says, and know their names."""

import base64
import contextlib
import os
import pathlib
import signal

import pytest

from roost import networks
from roost.compute.network.bridge.segment import SegmentNames
from roost.compute.network.bridge.system import System
from roost.rig import services
from roost.rig.embedded import EmbeddedRig
from roost.rig.hypervisors import linux_guest
from tests.stories.cloud import wait_until
from tests.stories.projects import Project
from tests.stories.real_guests import BOOTED, cloud_of, console, wait_until_it_says

pytestmark = pytest.mark.timeout(600)  # the first one makes a guest, and libvirt looks at QEMU
HOST = "cell1-host1"
NAMES = [services.unique_name("net").replace("_", "-") for _ in range(2)]
ONE, OTHER = (entry.id for entry in networks.parse([f"{name}=10.77.0.0/24" for name in NAMES]))


@pytest.fixture(scope="module")
def cloud(network_programs, libvirtd, linux_image, tmp_path_factory):
    """One host of libvirt with two networks of the same range."""
    rig = EmbeddedRig(
        tmp_path_factory.mktemp("rig"),
        cells=1,
        hosts=1,
        overrides={
            "compute": {"virt_driver": "libvirt", "resume_guests_state_on_host_boot": True},
            "libvirt": {"connection_uri": libvirtd.uri, "virt_type": "qemu"},
            "network": {
                "driver": "bridge",
                "local_networks": ",".join(f"{name}=10.77.0.0/24" for name in NAMES),
            },
        },
        metadata=True,
    )
    rig.plan.overrides["bridge"] = {"metadata_url": rig.plan.metadata_endpoint}
    rig.plan.overrides["metadata"] = {"shared_secret": rig.plan.metadata_secret}
    with cloud_of(rig, libvirtd, linux_image) as cloud:
        yield cloud
    assert [name for name in left() if System().namespace(name) is not None] == []


def left():
    return [SegmentNames(network).namespace for network in (ONE, OTHER)]


def boot(cloud, network, address, script=""):
    """Boot a server at an address; its user data is a script that its guest runs."""
    (server_id,) = cloud.boot(
        networks=[{"uuid": network, "fixed_ip": address}],
        user_data=base64.b64encode(f"{script}\n".encode()).decode(),
    )
    return server_id


def read(host):
    """A line for a guest to say: what another says, or that nobody does."""
    return f'echo "guest: $(timeout 10 wget -q -O - http://{host}/ || echo nobody) from {host}"'


def wait_until_up(cloud, server_id):
    """Return what a guest has said until it was ready."""
    cloud.wait([server_id], "ACTIVE")
    wait_until_it_says(cloud, server_id, linux_guest.READY)
    return console(cloud, server_id)


@pytest.fixture(scope="module")
def first(cloud):
    server_id = boot(cloud, ONE, "10.77.0.11")
    wait_until_up(cloud, server_id)
    return server_id


def test_a_guest_has_the_address_that_the_api_says(cloud, first):
    ((address,),) = cloud.show(first)["addresses"].values()
    assert address["addr"] == "10.77.0.11"
    assert "guest: address 10.77.0.11/24" in console(cloud, first)


def test_a_guest_reads_who_it_is_over_its_network(cloud, first):
    assert f"guest: metadata of {first}" in console(cloud, first)


def crash(libvirtd):
    """Have all that ends with a host end, but for its daemon and its libvirtd."""
    libvirtd.kill()
    for pid in libvirtd.guests().values():
        os.kill(pid, signal.SIGKILL)
    system = System()
    names = SegmentNames(ONE)
    for pid in system.run("ip", "netns", "pids", names.namespace).split():
        if pathlib.Path("/proc", pid, "comm").read_text() == "dnsmasq\n":
            os.kill(int(pid), signal.SIGKILL)
    for link in (names.outer, names.bridge):
        system.run("ip", "link", "delete", "dev", link)
    system.run("ip", "netns", "delete", names.namespace)
    for family in ("bridge", "ip"):
        system.run("nft", "delete", "table", family, names.table)


def test_guests_that_ran_when_their_host_went_down_run_again_on_their_networks(
    cloud, libvirtd, first
):
    before = libvirtd.guests()[f"instance-{first}"]
    cloud.delete_all(but=[first])
    with cloud.without(HOST):
        crash(libvirtd)
        for started in cloud.plan.state.rglob("instances/*/started"):
            os.utime(started, (0, 0))  # long before this machine was
        libvirtd.start()
    assert libvirtd.guests()[f"instance-{first}"] != before
    wait_until_it_says(cloud, first, "guest: boot 2\n")
    again = "guest: address 10.77.0.11/24"
    wait_until(lambda: console(cloud, first).count(again) == 2, "it has its address again", 240)
    assert cloud.show(first)["status"] == "ACTIVE"


@pytest.fixture
def project(cloud):
    """Return what makes a project, with a network of its own; all have the same range."""
    with contextlib.ExitStack() as stack:

        def make(name):
            made = Project(cloud, services.unique_name(name))
            stack.callback(made.delete_all)
            return made, made.network("10.77.0.0/24")

        yield make


def says(project, server_id, words, *, after=0):
    """Wait for words of a guest; return how much it has said by then."""

    def found():
        return project.console(server_id).find(words, after) + 1

    return wait_until(found, words, timeout=BOOTED)


LOOKING = """\
while sleep 1; do echo "guest: now $(timeout 2 wget -q -O - http://10.77.0.11/ || echo nobody)"
done >/dev/console &
"""


def test_projects_are_apart_and_their_groups_say_who_is_let_in(project):
    (red, red_net), (blue, blue_net) = project("red"), project("blue")
    web = red.group("web")
    first_rule = red.let_in(web, protocol="tcp")
    blue.let_in(blue.default_group(), protocol="tcp")  # nothing but the network keeps them apart
    page = "echo {} >/www/index.html"
    ones = [
        (red, red.boot(red_net, "10.77.0.11", page.format("red"), group="web")),
        (blue, blue.boot(blue_net, "10.77.0.12", page.format("blue"))),
    ]
    for owner, server_id in ones:
        says(owner, server_id, linux_guest.READY)
    look = f"{read('10.77.0.11')}\n{read('10.77.0.12')}\n"
    red_two = red.boot(red_net, "10.77.0.13", look + LOOKING)
    blue_two = blue.boot(blue_net, "10.77.0.13", look)
    for owner, server_id, answers in (
        (red, red_two, ("red", "nobody")),
        (blue, blue_two, ("nobody", "blue")),
    ):
        says(owner, server_id, linux_guest.READY)
        for address, answer in zip(("10.77.0.11", "10.77.0.12"), answers, strict=True):
            assert f"guest: {answer} from {address}" in owner.console(server_id)
    said = says(red, red_two, "guest: now red")
    red.take_away(first_rule)
    said = says(red, red_two, "guest: now nobody", after=said)
    red.let_in(web, protocol="tcp", port_range_min=80, port_range_max=80,
               remote_group_id=red.default_group())  # fmt: skip
    said = says(red, red_two, "guest: now red", after=said)
    leave = {"removeSecurityGroup": {"name": "default"}}
    red.ask("POST", f"/servers/{red_two}/action", {"addSecurityGroup": {"name": "web"}})
    red.ask("POST", f"/servers/{red_two}/action", leave)
    says(red, red_two, "guest: now nobody", after=said)
