"""A rig with a real Keystone, Glance and Neutron beside Roost, used as its member and its admin.

By the clients that people have, too: one rig does for all of them, since such services take long.
"""

import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time

import openstack
import pytest

from roost.rig.clouds import CLOUD
from roost.rig.openstack.plan import GLANCE, KEYSTONE, NEUTRON
from roost.rig.plan import Plan
from tests.clients import functional, installation
from tests.external.heat import Heat
from tests.integration.conftest import OUTSIDE
from tests.stories.cloud import wait_until
from tests.tempest.running import FAILED, PASSED, SKIPPED, patterns

BIN = pathlib.Path(sys.executable).parent
CLIENTS = pathlib.Path(__file__).parents[1] / "clients"
SERVICES = (KEYSTONE, GLANCE, NEUTRON)
pytestmark = pytest.mark.timeout(1800)  # it may have to install all three


class Rig:
    """``roost-rig`` for one folder, and ``openstack`` for who sources a file of it."""

    def __init__(self, state):
        self.state = state

    def __call__(self, command, *words):
        return self.run([BIN / "roost-rig", command, "--state", self.state, *words])

    def openstack(self, openrc, words, *, fails=False):
        """Run a command as whom ``openrc`` makes of us, and return what it says."""
        line = f". {self.state}/{openrc} && {BIN}/openstack {words}"
        return self.run(["sh", "-c", line], fails=fails)

    def shown(self, openrc, words):
        """Run one that shows something, and return that."""
        return json.loads(self.openstack(openrc, f"{words} -f json"))

    def as_member(self, *command, **variables):
        """Run a program of others that looks at the variables of an openrc."""
        line = f'. {self.state}/openrc && exec "$@"'
        return self.run(["sh", "-c", line, "-", *command], **variables)

    def run(self, command, *, fails=False, **variables):
        """Run a command, with variables beside our own, and return what it says."""
        clean = {name: text for name, text in os.environ.items() if not name.startswith("OS_")}
        done = subprocess.run(
            command,
            env={**clean, "PYTHONWARNINGS": "ignore", **variables},
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stderr if fails else done.stdout


@pytest.fixture(scope="module")
def rig(openstack_packages, tmp_path_factory):
    """One in one process, so that none but the three take long; others may start beside it."""
    made = Rig(tmp_path_factory.mktemp("rig") / "state")
    size = ("--embedded", "--cells", "1", "--hosts", "2", "--any-ports")
    try:
        begun = time.monotonic()
        made.told = made("up", *size, "--with", ",".join(SERVICES), "--cache", OUTSIDE)
        made.seconds = time.monotonic() - begun
        yield made
    finally:
        made("down", "--if-there")
    assert not made.state.exists()


@pytest.fixture(scope="module")
def plan(rig):
    return Plan.load(rig.state)


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_one_command_has_all_of_them_up_within_three_minutes(rig):
    assert rig.seconds < 180  # what they are made of is installed


def test_a_member_boots_a_server_and_an_administrator_sees_where(rig, plan):
    server = rig.shown(
        "openrc", "server create --flavor m1.tiny --image tiny --nic auto --wait mine"
    )
    assert (server["status"], [*server["addresses"]]) == ("ACTIVE", ["private"])
    address = rig.shown("openrc", "floating ip create public")["floating_ip_address"]
    rig.openstack("openrc", f"server add floating ip mine {address}")
    floating = rig.shown("openrc", f"floating ip show {address}")
    assert floating["fixed_ip_address"] in server["addresses"]["private"]
    assert "Forbidden" in rig.openstack("openrc", "compute service list", fails=True)
    seen = rig.shown("openrc-admin", "server list --all-projects --long")
    assert [one["Host"] in plan.all_hosts for one in seen] == [True]
    told = plan.log_file(NEUTRON)
    wait_until(lambda: "network-vif-plugged" in told.read_text(), "Neutron tells Roost of ports")


@pytest.mark.filterwarnings("ignore")  # what clients warn of is theirs
@pytest.mark.parametrize("reuse", [True, False])
def test_openstacksdk_boots_a_server_with_an_address_for_all(sdk, reuse):
    """It waits until the address is ACTIVE, but for one that it finds unused."""
    sizes = {"image": "tiny", "flavor": "m1.tiny", "network": "private"}
    sdk.create_server("sdk", **sizes, wait=True, auto_ip=True, reuse_ips=reuse, timeout=120)
    server = sdk.get_server("sdk")
    (address,) = sdk.list_floating_ips(filters={"floating_ip_address": server.public_v4})
    assert (address.status, address.fixed_ip_address) == ("ACTIVE", server.private_v4)
    assert server.interface_ip == server.public_v4
    assert sdk.delete_server("sdk", wait=True, delete_ips=True, timeout=120)
    assert sdk.get_floating_ip(address.id) is None


def test_a_server_that_moves_keeps_its_port_which_is_bound_to_its_host(rig):
    """Whether the move is reverted or confirmed."""
    sizes = "--flavor m1.tiny --image tiny --network private"
    uuid = rig.shown("openrc", f"server create {sizes} --wait moving")["id"]
    (port,) = rig.shown("openrc-admin", f"port list --server {uuid}")

    def host():
        shown = rig.shown("openrc-admin", f"port show {port['ID']}")
        assert shown["status"] == "ACTIVE"
        assert (shown["mac_address"], shown["fixed_ips"]) == (
            port["MAC Address"],
            port["Fixed IP Addresses"],
        )
        server = rig.shown("openrc-admin", f"server show {uuid}")
        assert server["OS-EXT-SRV-ATTR:host"] == shown["binding_host_id"]
        return shown["binding_host_id"]

    def becomes_active():
        return rig.shown("openrc", f"server show {uuid}")["status"] == "ACTIVE"

    source = host()
    for answer, moved in (("revert", False), ("confirm", True)):
        rig.openstack("openrc-admin", f"server migrate --wait {uuid}")
        assert host() != source
        rig.openstack("openrc", f"server migration {answer} {uuid}")
        wait_until(becomes_active, f"the move is over ({answer})")
        assert (host() != source) == moved
    rig.openstack("openrc", f"server delete --wait {uuid}")


@pytest.fixture
def sdk(rig):
    config = openstack.config.OpenStackConfig(config_files=[str(rig.state / "clouds.yaml")])
    with openstack.connection.Connection(config=config.get_one(CLOUD)) as connection:
        yield connection


@pytest.fixture(scope="module")
def clients():
    """Where the clients of others are installed."""
    installation.install(OUTSIDE / "clients")
    return OUTSIDE / "clients"


def test_a_server_lives_as_gophercloud_tells_it(rig, tmp_path):
    go = {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "GOCACHE": str(tmp_path / "cache")}
    rig.run(["go", "build", "-o", tmp_path / "life", CLIENTS / "gophercloud/life.go"], **go)
    steps = rig.as_member(tmp_path / "life", OS_DOMAIN_ID="default").splitlines()
    assert (steps[0], steps[-1], len(steps)) == ("login", "tidy up", 20)


def test_a_server_lives_as_a_playbook_tells_it(rig, clients, tmp_path):
    def play(part):
        """Play a part of it, and return how many tasks changed something."""
        told = rig.run(
            [clients / "venv/bin/ansible-playbook", CLIENTS / "ansible/life.yml", "--tags", part],
            ANSIBLE_COLLECTIONS_PATH=clients / "collections",
            ANSIBLE_HOME=tmp_path,
            ANSIBLE_LOCALHOST_WARNING="false",
            LC_ALL="C.UTF-8",
            OS_CLIENT_CONFIG_FILE=rig.state / "clouds.yaml",
            OS_CLOUD=CLOUD,
        )
        return int(re.search(r"ok=\d+ +changed=(\d+)", told)[1])

    assert play("create") == 6
    assert play("create") == 0, "what is there is left as it is"
    assert play("use") == 10
    assert play("delete") == 5


def test_a_server_lives_as_libcloud_tells_it(rig, clients):
    steps = rig.as_member(clients / "venv/bin/python", CLIENTS / "libcloud/life.py").splitlines()
    assert (steps[0], steps[-1], len(steps)) == ("find", "tidy up", 15)


@pytest.fixture(scope="module")
def workspace(plan, tmp_path_factory):
    """Where functional tests of clients are told of a cloud."""
    folder = tmp_path_factory.mktemp("functional")
    with functional.clouds(plan, folder):
        yield folder


@pytest.mark.parametrize("suite", functional.SUITES.values(), ids=functional.SUITES)
def test_functional_tests_of_clients_pass(clients, workspace, suite):
    results = functional.run(suite, clients, workspace, "--include-list", functional.HABITS)
    assert not results.tests[FAILED], "\n".join(results.summary())
    assert not results.tests[SKIPPED], "\n".join(results.summary())
    assert results.tests[PASSED]


def test_every_line_of_the_lists_of_functional_tests_still_means_one(clients, workspace):
    suites = functional.SUITES.values()
    tests = [one for each in suites for one in functional.list_tests(each, clients, workspace)]
    listed = [*patterns(functional.EXCLUDED), *patterns(functional.HABITS)]
    assert [line for line in listed if not any(re.search(line, test) for test in tests)] == []


@pytest.fixture
def heat(plan, rabbitmq_url, tmp_path):
    """A Heat beside the rig; the catalog keeps it, so tests of other clients come first."""
    installation.install_heat(OUTSIDE / "heat")
    with Heat(OUTSIDE / "heat", tmp_path, openstack=plan.openstack, broker=rabbitmq_url) as running:
        yield running


def test_a_stack_of_heat_gives_its_server_another_flavor(rig, heat):
    def stack(*words):
        told = rig.as_member(heat.bin / "openstack", "stack", *words, "stacked")
        return json.loads(told) if "json" in words else None

    def server():
        outputs = {one["output_key"]: one["output_value"] for one in stack(*shown)["outputs"]}
        server = rig.shown("openrc", f"server show {outputs['server']}")
        assert server["addresses"] == {"private": [outputs["address"]]}
        return server

    shown = ("show", "-f", "json")
    template = CLIENTS / "heat/stack.yaml"
    stack("create", "--wait", "--template", template, "--parameter", "flavor=m1.tiny")
    before = server()
    stack("update", "--wait", "--existing", "--parameter", "flavor=m1.small")
    assert stack(*shown)["stack_status"] == "UPDATE_COMPLETE", heat.log()[-5000:]
    after = server()
    assert (before["flavor"]["name"], after["flavor"]["name"]) == ("m1.tiny", "m1.small")
    assert after["status"] == "ACTIVE"
    assert (after["id"], after["addresses"]) == (before["id"], before["addresses"])
    stack("delete", "--wait", "--yes")
    assert "stacked" not in rig.openstack("openrc", "server list")


def test_it_is_shown_with_the_rest_and_used_by_the_rigs_own_commands(rig, plan):
    for name in SERVICES:
        assert f"{name.capitalize()} is at {plan.openstack.url(name)}" in rig.told
    shown = {line.split()[0]: line for line in rig("status").splitlines() if line.strip()}
    assert all(" ms" in shown[name] for name in SERVICES)
    assert "ACTIVE 2" in rig("boot", "-n", "2")
    rig("boot", "--delete-all")
    rig("kill", GLANCE)
    port = plan.openstack.ports[GLANCE]
    with socket.create_server(("127.0.0.1", port)):
        rig("start", GLANCE)
        told = f"glance cannot have port {port} of 127.0.0.1"
        wait_until(lambda: told in rig("logs", GLANCE), "Glance says why it ends", timeout=120)
    rig("start", GLANCE)
    wait_until(lambda: listens(plan.openstack.ports[GLANCE]), "Glance is back", timeout=120)


def test_nothing_is_left_of_it(rig, plan):
    rig("down")
    assert not rig.state.exists()
    assert [port for port in (plan.port, *plan.openstack.ports.values()) if listens(port)] == []
