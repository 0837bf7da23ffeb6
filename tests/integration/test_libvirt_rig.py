"""A rig with real guests: real daemons, two hosts that are apart, booted through the REST API."""

import base64
import functools
import os
import pathlib
import re
import signal
import subprocess
import sys
from urllib.parse import unquote

import pytest
import requests
from websockets.sync.client import connect

from roost import exception
from roost.rig.hypervisors import hosts, leftovers
from roost.rig.install import LINUX
from roost.rig.plan import Plan
from roost.rig.services.private import free_port
from tests.stories.cloud import Cloud, wait_until
from tests.stories.moves import host_of
from tests.stories.power import act, history
from tests.stories.real_guests import console, wait_until_it_says
from tests.stories.real_rig import Daemons

pytestmark = pytest.mark.timeout(600)  # the first one makes a guest, and libvirt looks at QEMU
BIN = pathlib.Path(sys.executable).parent
HOSTS = ("cell1-host1", "cell1-host2")
ADDRESS = "10.0.77.11"


def roost_rig(state, command, *arguments, fails=False):
    words = [str(BIN / "roost-rig"), command, "--state", str(state), *arguments]
    done = subprocess.run(words, capture_output=True, text=True, timeout=280)
    assert (done.returncode != 0) == fails, done.stdout + done.stderr
    return done.stdout + done.stderr


def left_here(plan):
    """Return what is left of a rig on this machine, its folder apart."""
    links = [
        path.name
        for path in pathlib.Path("/sys/class/net").iterdir()
        if path.name.startswith(plan.network.prefix)
    ]
    members = [pid for one in hosts.machines(plan) for pid in one.members()]
    return links, members


@pytest.fixture(scope="module")
def cloud(rabbitmq, postgresql, linux_image, tmp_path_factory):
    """Two hosts of a cell; in the end its supervisord is killed, and then all of it is ended."""
    try:
        hosts.check_wish(hosts=2, embedded=False, mode="threading", inventory=False)
    except exception.Invalid as missing:
        pytest.fail(missing.message, pytrace=False)
    state = tmp_path_factory.mktemp("rig") / "state"
    try:
        roost_rig(
            state, "up", "--driver", "libvirt", "--cells", "1", "--hosts", "2",
            "--port", str(free_port()), "--cache", str(linux_image.parents[1]),
            "--bus", rabbitmq.url(""), "--db", postgresql.url(""),
            "--set", "libvirt.virt_type=qemu",
        )  # fmt: skip
        rig = Daemons(Plan.load(state))
        cloud = Cloud(rig)
        cloud.image = cloud._id(LINUX, cloud.client.images())
        cloud.flavor = cloud._id(LINUX, cloud.client.flavors())
        yield cloud
        cloud.close()
        os.kill(rig.supervisor.pid, signal.SIGKILL)
    finally:
        roost_rig(state, "down", "--if-there")
    assert left_here(rig.plan) == ([], [])
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    assert [line for line in running.splitlines() if str(state) in line] == []


def boot(cloud, host, address, script=""):
    (server_id,) = cloud.boot(
        networks=[{"uuid": network_of(cloud), "fixed_ip": address}],
        user_data=base64.b64encode(f"{script}\n".encode()).decode(),
        host=host,
    )
    return server_id


def network_of(cloud):
    root = cloud.client.endpoint.removesuffix("/v2.1")
    found = requests.get(f"{root}/network/v2.0/networks", timeout=30).json()["networks"]
    return next(one["id"] for one in found if one["name"] == "private")


@pytest.fixture(scope="module")
def servers(cloud):
    """A server on each host; the second one looks for the first when it is up."""
    look = f"timeout 5 wget -q -O /var/run/found http://{ADDRESS}/"
    script = (
        f"for n in $(seq 20); do {look} && break; sleep 2; done;"
        'echo "guest: found $(cat /var/run/found)"'
    )
    ids = [boot(cloud, HOSTS[0], ADDRESS), boot(cloud, HOSTS[1], "10.0.77.12", script)]
    cloud.wait(ids, "ACTIVE")
    for server_id in ids:
        wait_until_it_says(cloud, server_id, "guest: ready")
    return ids


def test_guests_say_who_they_are_and_what_their_address_is(cloud, servers):
    for server_id, address in zip(servers, (ADDRESS, "10.0.77.12"), strict=True):
        said = console(cloud, server_id)
        assert f"guest: metadata of {server_id}" in said
        assert f"guest: address {address}/16" in said


def test_guests_of_a_network_reach_each_other_from_host_to_host(cloud, servers):
    assert [cloud.show(one)["OS-EXT-SRV-ATTR:host"] for one in servers] == list(HOSTS)
    assert "guest: found hello" in console(cloud, servers[1])


def test_a_libvirtd_knows_its_own_guest_and_listens_to_other_hosts(cloud, servers):
    listing = ["virsh", "-c", f"qemu+tcp://{HOSTS[0]}/system", "list", "--name"]
    for host in HOSTS:
        told = roost_rig(cloud.plan.state, "inside", host, *listing)
        assert told.split() == [cloud.show(servers[0])["OS-EXT-SRV-ATTR:instance_name"]]


def test_the_url_of_a_console_leads_to_the_guest(cloud, servers):
    asked = {"remote_console": {"protocol": "vnc", "type": "novnc"}}
    url = cloud.client.post(f"/servers/{servers[0]}/remote-consoles", asked)["remote_console"][
        "url"
    ]
    root, _, query = url.partition("/vnc_lite.html?path=")
    assert root == f"http://{cloud.plan.console_endpoint}"
    address = f"ws://{cloud.plan.console_endpoint}/{unquote(query)}"
    with connect(address, subprotocols=["binary"], origin=root) as browser:
        assert browser.recv(timeout=30) == b"RFB 003.008\n"


def pids_of(cloud, host):
    """Return the processes of a host's guests."""
    one = hosts.machine(cloud.plan, host)
    return {path.stem: int(path.read_text()) for path in one.folder.glob("run/qemu/*-*.pid")}


def test_a_host_that_loses_its_daemons_keeps_its_guest(cloud, servers):
    host, server_id = HOSTS[0], servers[0]
    before = pids_of(cloud, host)
    assert len(before) == 1
    for name in (host, f"{host}-libvirtd"):
        cloud.rig.kill(name)
    (pid,) = before.values()
    assert pid in hosts.machine(cloud.plan, host).members()
    dead = {one.name for one in cloud.rig.supervisor.list_processes() if not one.running}
    assert dead == {host, f"{host}-libvirtd"}
    for name in (f"{host}-libvirtd", host):
        cloud.rig.start_daemon(name)
    wait_until(lambda: not cloud.audit_unchecked(), "it answers: it counts as up for a while yet")
    assert (cloud.show(server_id)["status"], pids_of(cloud, host)) == ("ACTIVE", before)
    reboot = requests.post(
        f"{cloud.client.endpoint}/servers/{server_id}/action",
        json={"reboot": {"type": "HARD"}},
        timeout=30,
    )
    reboot.raise_for_status()
    wait_until_it_says(cloud, server_id, "guest: boot 2\n")
    cloud.wait([server_id], "ACTIVE")


def move(cloud, server_id, body, status):
    """Have a server move, and return it once it rests in a status."""
    act(cloud, server_id, body)

    def look():
        seen = cloud.show(server_id)
        at_rest = seen["OS-EXT-STS:task_state"] is None
        assert not at_rest or seen["status"] == status, (seen["status"], history(cloud, server_id))
        return seen if at_rest else None

    return wait_until(look, f"{status} of {server_id}", timeout=180)


def test_a_guest_runs_on_while_it_moves_to_another_host_and_back(cloud, servers):
    clock = '(while sleep 1; do n=$((n+1)); echo "guest: tick $n."; done) > /dev/console &'
    server_id = boot(cloud, HOSTS[0], "10.0.77.13", clock)
    cloud.wait([server_id], "ACTIVE")
    wait_until_it_says(cloud, server_id, "guest: tick 3.")
    for host in (HOSTS[1], HOSTS[0]):
        before = ticks(cloud, server_id)
        body = {"host": host, "block_migration": False, "disk_over_commit": False}
        after = move(cloud, server_id, {"os-migrateLive": body}, "ACTIVE")
        assert host_of(after) == host
        wait_until_it_says(cloud, server_id, f"guest: tick {before + 5}.")
    assert "guest: boot 2" not in console(cloud, server_id)
    steps = ("describe", "make_room", "transfer", "take_over")
    done = [(name, result) for name, result in history(cloud, server_id)[1] if "compute" in name]
    assert done == [(f"compute.{name}", "Success") for name in steps]
    assert re.search(r"The guest stood still for \d+ ms\.", str(details(cloud, server_id)))
    cloud.client.delete_server(server_id)
    cloud.wait_gone([server_id])
    assert cloud.audit() == {}


def details(cloud, server_id):
    """Return what the events of the newest action of a server say."""
    path = f"/servers/{server_id}/os-instance-actions"
    newest = cloud.client.get(path)["instanceActions"][0]["request_id"]
    events = cloud.client.get(f"{path}/{newest}")["instanceAction"]["events"]
    return {each["event"]: each.get("details") for each in events}


def ticks(cloud, server_id):
    """Return how long the clock of a guest has gone by now."""
    return int(console(cloud, server_id).rpartition("guest: tick ")[2].split(".")[0])


def test_servers_are_resized_and_migrated_with_what_they_wrote_and_come_back(cloud, servers):
    flavor = cloud.create_flavor(name="larger", ram=160, vcpus=1, disk=2)
    before = cloud.show(servers[0])
    after = move(cloud, servers[0], {"resize": {"flavorRef": flavor}}, "VERIFY_RESIZE")
    assert (host_of(before), host_of(after)) == HOSTS
    assert after["addresses"] == before["addresses"]
    wait_until_it_says(cloud, servers[0], "guest: boot 3\n")
    wait_until_it_says(cloud, servers[0], "guest: root disk of 2048 MiB")
    back = move(cloud, servers[0], {"revertResize": None}, "ACTIVE")
    assert (host_of(back), back["flavor"]) == (HOSTS[0], before["flavor"])
    moved = move(cloud, servers[1], {"migrate": None}, "VERIFY_RESIZE")
    assert host_of(moved) == HOSTS[0]
    wait_until_it_says(cloud, servers[1], "guest: boot 2\n")
    move(cloud, servers[1], {"confirmResize": None}, "ACTIVE")
    assert [*pathlib.Path(cloud.plan.state, "var").rglob("offers.*/*")] == []
    assert cloud.audit() == {}


def test_a_shelved_guest_comes_back_on_another_host_with_its_disk_and_its_address(cloud, servers):
    server_id = boot(cloud, HOSTS[0], "10.0.77.14")
    cloud.wait([server_id], "ACTIVE")
    wait_until_it_says(cloud, server_id, "guest: ready")
    before = cloud.show(server_id)
    act(cloud, server_id, {"shelve": None})
    offloaded = functools.partial(rests, cloud, server_id, "SHELVED_OFFLOADED")
    wait_until(offloaded, "the offload", timeout=120)
    assert all(server_id not in name for name in domains(cloud, HOSTS[0]))
    answer = requests.post(
        f"{cloud.client.endpoint}/servers/{server_id}/action",
        json={"unshelve": {"host": HOSTS[1]}},
        headers={"OpenStack-API-Version": "compute 2.91"},
        timeout=60,
    )
    assert answer.status_code == 202, answer.text
    wait_until(functools.partial(rests, cloud, server_id, "ACTIVE"), "it", timeout=120)
    after = cloud.show(server_id)
    assert (host_of(after), after["addresses"]) == (HOSTS[1], before["addresses"])
    wait_until_it_says(cloud, server_id, "guest: boot 2\n")
    cloud.client.delete_server(server_id)
    cloud.wait_gone([server_id])
    assert cloud.audit() == {}


def rests(cloud, server_id, status):
    seen = cloud.show(server_id)
    return seen["OS-EXT-STS:task_state"] is None and seen["status"] == status


def domains(cloud, host):
    listing = ["virsh", "-c", f"qemu+tcp://{host}/system", "list", "--all", "--name"]
    return roost_rig(cloud.plan.state, "inside", host, *listing).split()


def test_a_host_that_is_off_is_evacuated_and_keeps_nothing_when_it_is_back(cloud, servers):
    """Everything on it is killed; its disks are its own, so that its guests begin anew."""
    lost, other = HOSTS
    evacuated = [each["id"] for each in cloud.client.servers() if host_of(each) == lost]
    assert evacuated
    for name in (lost, f"{lost}-libvirtd"):
        cloud.rig.kill(name)
    for pid in pids_of(cloud, lost).values():
        os.kill(pid, signal.SIGKILL)
    cloud.change_service(lost, forced_down=True)
    command = [BIN / "roost-manage", f"--config-file={cloud.plan.config_file('manage')}"]
    done = subprocess.run(
        [*command, "host", "evacuate", lost, "--yes"], capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for server in cloud.wait(evacuated, "ACTIVE"):
        assert host_of(server) == other
        wait_until_it_says(cloud, server["id"], "guest: boot 1\n")
    cloud.change_service(lost, forced_down=False)
    for name in (f"{lost}-libvirtd", lost):
        cloud.rig.start_daemon(name)
    wait_until(lambda: domains(cloud, lost) == [], "its remains to go", timeout=120)
    assert cloud.audit() == {}


def test_of_deleted_servers_nothing_is_left_on_the_hosts(cloud, servers):
    assert leftovers.count(leftovers.look(cloud.plan)) > 6
    cloud.delete_all()
    assert cloud.audit() == {}
    none = {kind: [] for kind in leftovers.KINDS}
    assert leftovers.look(cloud.plan) == dict.fromkeys(HOSTS, none)
