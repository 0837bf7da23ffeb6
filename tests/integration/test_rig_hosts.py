"""Hosts of a rig with real guests, without a rig: places for processes, made and ended."""

import pathlib
import subprocess
import sys
import time
import uuid

import pytest

from roost import exception
from roost.rig.hypervisors import hosts, needs
from roost.rig.hypervisors.machine import HostNamespace, Link
from roost.rig.hypervisors.network import RigLinks, free_subnet
from tests.stories.cloud import wait_until

ENTER = [sys.executable, "-m", "roost.rig.hypervisors.enter"]
SLEEP = ["sleep", "600"]


@pytest.fixture(scope="module", autouse=True)
def programs():
    try:
        hosts.check_wish(hosts=1, embedded=False, mode="threading", inventory=False)
    except exception.Invalid as missing:
        pytest.fail(missing.message, pytrace=False)


def ip(*words):
    return subprocess.run(
        [needs.find_program("ip"), *words], check=True, capture_output=True, text=True
    ).stdout


@pytest.fixture(scope="module")
def network():
    made = RigLinks(uuid.uuid4().hex[:8], free_subnet())
    ip("link", "add", "name", made.switch, "type", "bridge")
    ip("address", "add", f"{made.gateway}/24", "dev", made.switch)
    ip("link", "set", "dev", made.switch, "up")
    yield made
    ip("link", "delete", "dev", made.switch)


class Host:
    """A host whose first process is not virtlogd, but sleeps."""

    def __init__(self, folder, network, number):
        names = folder / "names"
        names.write_text(f"127.0.0.1 localhost\n{network.address(0)} h0\n{network.address(1)} h1\n")
        links = [
            Link(f"eth{n}", network.link(kind, number), network.switch)
            for n, kind in enumerate("mg")
        ]
        self.machine = HostNamespace(
            name=f"h{number}",
            folder=folder / "a folder" / f"h{number}",
            cache=folder / "cache",
            names=names,
            address=network.address(number),
            gateway=network.gateway,
            links=tuple(links),
        )
        self.machine.lay()
        self.started = []
        self.start()

    def start(self):
        self.first = self.run("--first", words=SLEEP)
        wait_until(self._sleeps, "its first process is in, and all is made by then")

    def _sleeps(self):
        called = pathlib.Path(f"/proc/{self.first.pid}/cmdline").read_bytes().split(b"\0")[:-1]
        return [word.decode() for word in called] == SLEEP

    def run(self, *how, words):
        process = subprocess.Popen([*ENTER, *how, str(self.machine.folder), *words])
        self.started.append(process)
        return process

    def ask(self, *words):
        """Return what a command says there."""
        command = [*ENTER, str(self.machine.folder), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def end(self):
        self.machine.end()
        for process in self.started:
            process.wait()


@pytest.fixture(scope="module")
def pair(tmp_path_factory, network):
    folder = tmp_path_factory.mktemp("hosts")
    made = [Host(folder, network, number) for number in range(2)]
    yield made
    for host in made:
        host.end()
    left = [name for name in ip("-oneline", "link").split() if network.prefix in name]
    assert [name for name in left if not name.startswith(network.switch)] == []


def test_a_host_has_a_name_and_links_of_its_own(pair):
    assert [host.ask("hostname") for host in pair] == ["h0", "h1"]
    links = pair[0].ask("ls", "/sys/class/net").split()
    assert links == ["eth0", "eth1", "lo"]


def test_hosts_know_each_other_by_name(pair, network):
    assert pair[0].ask("getent", "hosts", "h1").split() == [network.address(1), "h1"]


def test_each_says_another_uuid_and_takes_guests_at_its_address(pair, network):
    confs = [host.ask("cat", "/etc/libvirt/libvirtd.conf") for host in pair]
    assert len({line for conf in confs for line in conf.splitlines() if "host_uuid" in line}) == 2
    assert f'listen_addr = "{network.address(0)}"' in confs[0]
    assert f'migration_host = "{network.address(0)}"' in pair[0].ask(
        "cat", "/etc/libvirt/qemu.conf"
    )


LISTEN = (
    "import socket; made = socket.create_server(('{}', {}));"
    "print('listens', flush=True); made.accept()"
)
CONNECT = "import socket; socket.create_connection(('{}', {}), 5); print('in')"


def test_only_hosts_reach_the_libvirtd_of_hosts(pair, network):
    place = (network.address(0), 16509)
    listening = pair[0].run(words=[sys.executable, "-c", LISTEN.format(*place)])
    connect = CONNECT.format(*place)
    wait_until(lambda: str(place[1]) in pair[0].ask("ss", "-ltn"), "it listens")
    outside = subprocess.run([sys.executable, "-c", connect], capture_output=True, text=True)
    assert "ConnectionRefusedError" in outside.stderr
    assert pair[1].ask(sys.executable, "-c", connect) == "in"
    listening.wait()


def test_a_host_stays_while_anything_of_it_lives(pair):
    pair[0].ask("ip", "netns", "add", "guests")
    other = pair[0].run(words=SLEEP)
    wait_until(lambda: other.pid in pair[0].machine.members(), "it is in")
    pair[0].first.kill()
    pair[0].first.wait()
    assert pair[0].ask("hostname") == "h0"
    pair[0].start()
    assert "guests" in pair[0].ask("ip", "netns", "list")  # it has not been made anew


def test_without_anything_of_it_there_is_no_host_until_its_first_process_is_started(pair):
    pair[0].end()
    entered = pair[0].run(words=SLEEP)
    assert entered.wait(10) != 0
    with pytest.raises(exception.Conflict, match="nothing of h0 runs any more; start h0-virtlogd"):
        pair[0].machine.inside(SLEEP)
    pair[0].start()
    assert pair[0].ask("ip", "netns", "list") == ""
    assert pair[0].ask("getent", "hosts", "h1")


DAEMON = "import os, time; os.fork() and os._exit(0); os.setsid(); time.sleep(600)"


def test_all_of_a_host_ends_whoever_started_it_and_nothing_of_another(pair):
    pair[0].ask("ip", "netns", "add", "deep")
    deep = ["ip", "netns", "exec", "deep", sys.executable, "-c", DAEMON]
    pair[0].run(words=deep).wait()
    beside = pair[1].machine.members()
    assert len(pair[0].machine.members()) == 2
    began = time.monotonic()
    pair[0].end()
    assert time.monotonic() - began < 5
    assert pair[0].machine.members() == []
    assert pair[1].machine.members() == beside != []
    pair[0].machine.end()  # again is fine
