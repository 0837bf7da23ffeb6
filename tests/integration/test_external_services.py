"""A whole cloud: Keystone, Glance and Neutron as they are, which judge tokens, and Roost."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys

import openstack
import pytest
import requests
from click.testing import CliRunner

from roost.cmd.manage.cli import roost_manage
from roost.rig.embedded import EmbeddedRig
from roost.rig.services.private import free_port
from tests.external.glance import Glance
from tests.external.keystone import PASSWORD, REGION, Keystone
from tests.external.neutron import Neutron
from tests.stories.cloud import wait_until

# openstacksdk warns of what it does itself
pytestmark = [
    pytest.mark.timeout(1800),  # the first one may have to install all three
    pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning"),
    pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK60Warning"),
    pytest.mark.filterwarnings("ignore:The _compute_attributes method"),
]
_MICROVERSION = "2.90"
_OPENSTACK = pathlib.Path(sys.executable).parent / "openstack"
_SERVICES = ("roost", "glance", "neutron")
_SHORT = 8  # seconds that a short token lives
_PATIENCE = 120  # seconds: the machine may have more to do


@pytest.fixture(scope="module")
def keystone(openstack_packages, tmp_path_factory):
    with Keystone(openstack_packages, tmp_path_factory.mktemp("keystone")) as made:
        for project in ("blue", "red", "service"):
            made.project(project)
        made.user("alice", "blue", "member", "reader")
        made.user("bob", "red", "member", "reader")
        for service in _SERVICES:
            made.user(service, "service", "service", "admin")
        yield made


@pytest.fixture(scope="module")
def glance(openstack_packages, keystone, tmp_path_factory):
    folder = tmp_path_factory.mktemp("glance")
    with Glance(openstack_packages, folder, keystone=keystone) as made:
        keystone.service("image", made.url)
        yield made


@pytest.fixture(scope="module")
def rig(keystone, glance, tmp_path_factory):
    """Roost, which finds the others in the catalog."""
    ourselves = keystone.credentials("roost")
    overrides = {
        "api": {"auth_strategy": "keystone"},
        "keystone_authtoken": {
            **keystone.judging("roost"),
            "http_connect_timeout": _PATIENCE,
        },
        "service_user": without_region(ourselves),
        "image": {"store": "glance"},
        "glance": {**ourselves, "timeout": _PATIENCE},
        "network": {"driver": "neutron"},
        "neutron": {**ourselves, "timeout": _PATIENCE, "vif_plugging_timeout": _PATIENCE},
    }
    made = EmbeddedRig(tmp_path_factory.mktemp("rig"), cells=1, hosts=2, overrides=overrides)
    keystone.service("compute", made.endpoint)
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def neutron(openstack_packages, keystone, rig, tmp_path_factory):
    port, folder = free_port(), tmp_path_factory.mktemp("neutron")
    made = Neutron(openstack_packages, folder, port=port, compute=rig.endpoint, keystone=keystone)
    with made:
        keystone.service("network", made.url)
        yield made


def without_region(options):
    return {name: value for name, value in options.items() if name != "region_name"}


class Person:
    """Somebody with the openstack command, who knows a name, a password and where Keystone is."""

    def __init__(self, keystone, name, project):
        self._told = {
            "OS_AUTH_URL": keystone.url,
            "OS_USERNAME": name,
            "OS_PASSWORD": PASSWORD,
            "OS_PROJECT_NAME": project,
            "OS_USER_DOMAIN_ID": "default",
            "OS_PROJECT_DOMAIN_ID": "default",
            "OS_REGION_NAME": REGION,
            "OS_IDENTITY_API_VERSION": "3",
            "OS_COMPUTE_API_VERSION": _MICROVERSION,
        }
        self.session = keystone.login(name, project)
        self.sdk = openstack.connection.Connection(
            session=self.session, region_name=REGION, compute_default_microversion=_MICROVERSION
        )

    def __call__(self, *words, shown=True):
        """Run a command, and return what it shows."""
        done = subprocess.run(
            [str(_OPENSTACK), *words, *(["-f", "json"] if shown else [])],
            env={**os.environ, **self._told, "PYTHONWARNINGS": "ignore"},
            capture_output=True,
            text=True,
            timeout=280,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout) if shown else done.stdout

    @property
    def project(self):
        return self.session.get_project_id()


@pytest.fixture(scope="module")
def alice(keystone, rig, neutron):
    made = Person(keystone, "alice", "blue")
    yield made
    made.sdk.close()


@pytest.fixture(scope="module")
def bob(keystone, rig, neutron):
    made = Person(keystone, "bob", "red")
    yield made
    made.sdk.close()


@pytest.fixture(scope="module")
def network(alice):
    """A network of alice's project, by its id."""
    made = alice.sdk.network.create_network(name="private")
    alice.sdk.network.create_subnet(network_id=made.id, cidr="10.8.0.0/24", ip_version=4)
    return made.id


@pytest.fixture
def image(alice):
    """A private image of alice's that no host has yet, by its id."""
    data = os.urandom(20_000)
    made = alice.sdk.image.create_image(
        "private", data=data, container_format="bare", disk_format="raw", visibility="private"
    )
    yield made.id
    alice.sdk.image.delete_image(made.id)


@pytest.fixture(autouse=True)
def nothing_is_left(rig, alice, glance, neutron):
    """After each test no server is left, nor anything of one."""
    yield
    for server in list(alice.sdk.compute.servers()):
        alice.sdk.compute.delete_server(server)
        alice.sdk.compute.wait_for_delete(server, wait=_PATIENCE)
    assert [port for port in neutron.list("port") if port["device_id"]] == []
    assert [found.name for found in alice.sdk.image.images() if found.status != "active"] == []
    wait_until(lambda: audited(rig).exit_code == 0, "an audit that finds nothing")


def audited(rig, *more):
    arguments = ["--config-file", str(rig.plan.config_file("manage")), "audit", "--settle", "0.5"]
    return CliRunner().invoke(roost_manage, [*arguments, *more])


def ask(url, token, method="GET", *, version=_MICROVERSION, **more):
    return requests.request(
        method,
        url,
        headers={"X-Auth-Token": token, "OpenStack-API-Version": f"compute {version}"},
        timeout=60,
        **more,
    )


def booted(alice, image, **nic):
    """Return a server of alice's that runs."""
    compute = alice.sdk.compute
    made = compute.create_server(
        name="server", flavor_id=next(compute.flavors()).id, image_id=image, networks=[nic]
    )
    return compute.wait_for_server(made, wait=_PATIENCE)


def ask_for_one(rig, someone, token, *, image, network, **nic):
    """Ask for a server with a token of one's own; ``network`` None: without interfaces."""
    body = {
        "name": "server",
        "flavorRef": next(someone.sdk.compute.flavors()).id,
        "imageRef": image,
        "networks": [{"uuid": network, **nic}] if network else "none",
    }
    return ask(f"{rig.endpoint}/servers", token, "POST", json={"server": body})


@contextlib.contextmanager
def faults(rig, *rules):
    """Trouble for the pretended hypervisors, as long as the block lasts."""
    rig.plan.faults_file.write_text(json.dumps(rules))
    try:
        yield
    finally:
        rig.plan.faults_file.write_text("[]")


def ran_out(rig, token):
    return lambda: ask(f"{rig.endpoint}/servers", token).status_code == 401


# The one story of neighbours in the suite takes a minute: Keystone, Glance and Neutron start,
# and each of twenty commands logs in anew.
def test_the_openstack_command_lives_a_servers_life(alice, neutron, tmp_path):
    file = tmp_path / "mine"
    file.write_bytes(b"the bits of a guest" * 1000)
    image = alice("image", "create", "--file", str(file), "--private", "mine")
    assert (image["status"], image["owner"]) == ("active", alice.project)
    alice("network", "create", "backend")
    alice("subnet", "create", "--network", "backend", "--subnet-range", "10.7.0.0/24", "backend")
    make_it = ("server", "create", "--image", "mine", "--flavor", "m1.tiny")
    server = alice(*make_it, "--network", "backend", "--wait", "mine")
    (port,) = neutron.list("port", device_id=server["id"])
    assert (server["status"], server["project_id"]) == ("ACTIVE", alice.project)
    assert server["addresses"] == {"backend": [port["fixed_ips"][0]["ip_address"]]}
    assert port["project_id"] == alice.project
    assert alice("console", "log", "show", "mine", shown=False).strip()

    taken = alice("server", "image", "create", "--wait", "--name", "taken", "mine")
    assert (taken["status"], taken["owner"]) == ("active", alice.project)
    assert (taken["visibility"], taken["size"] > 0) == ("private", True)

    alice("server", "add", "network", "mine", "backend", shown=False)
    (added,) = {one["id"] for one in neutron.list("port", device_id=server["id"])} - {port["id"]}
    alice("server", "remove", "port", "mine", added, shown=False)
    wait_until(lambda: neutron.show("port", added) is None, "that the port is gone")

    alice("server", "reboot", "--hard", "--wait", "mine", shown=False)
    assert alice("server", "show", "mine")["status"] == "ACTIVE"
    alice("server", "delete", "--wait", "mine", shown=False)
    assert alice("server", "list") == []
    alice("image", "delete", "taken", "mine", shown=False)
    alice("network", "delete", "backend", shown=False)


@pytest.mark.soak
def test_security_groups_are_the_users_own_in_neutron(rig, alice, bob, image, network, neutron):
    group = alice("security", "group", "create", "late")
    assert group["project_id"] == alice.project
    alice("security", "group", "rule", "create", "--protocol", "tcp", "--dst-port", "22", "late")
    server = booted(alice, image, uuid=network)
    (port,) = neutron.list("port", device_id=server.id)
    alice("server", "add", "security", "group", server.id, "late", shown=False)
    (changed,) = neutron.list("port", device_id=server.id)
    assert set(changed["security_groups"]) == {*port["security_groups"], group["id"]}
    url = f"{rig.endpoint}/os-security-groups/{group['id']}"
    (rule,) = ask(url, alice.session.get_token(), version="2.35").json()["security_group"]["rules"]
    assert (rule["ip_protocol"], rule["from_port"]) == ("tcp", 22)
    assert ask(url, bob.session.get_token(), version="2.35").status_code == 404
    assert ask(url, alice.session.get_token(), "DELETE", version="2.35").status_code == 400
    alice("server", "remove", "security", "group", server.id, "late", shown=False)
    assert (
        neutron.list("port", device_id=server.id)[0]["security_groups"] == (port["security_groups"])
    )
    alice.sdk.compute.delete_server(server)
    alice.sdk.compute.wait_for_delete(server, wait=_PATIENCE)
    assert ask(url, alice.session.get_token(), "DELETE", version="2.35").status_code == 202


@pytest.mark.parametrize("token", ["nonsense", "alice:blue:admin", ""])
def test_a_token_that_is_none_is_refused_by_all_of_them(rig, glance, neutron, token):
    asked = (f"{rig.endpoint}/servers", f"{glance.url}/v2/images", f"{neutron.url}/v2.0/ports")
    assert [ask(url, token).status_code for url in asked] == [401, 401, 401]


@pytest.mark.soak
def test_a_build_goes_on_when_the_token_that_came_with_it_runs_out(
    rig, keystone, alice, image, network
):
    token = keystone.short_token("alice", "blue", seconds=_SHORT)
    with faults(rig, {"step": "network", "delay": 2 * _SHORT}):
        asked = ask_for_one(rig, alice, token, image=image, network=network)
        assert asked.status_code == 202, asked.text
        wait_until(ran_out(rig, token), "it runs out")
        server = alice.sdk.compute.get_server(asked.json()["server"]["id"])
        assert server.status == "BUILD"
        alice.sdk.compute.wait_for_server(server, wait=_PATIENCE)


def left_over(keystone, neutron, alice, network, server_id, *, made):
    """Let Neutron have a port of a server that is gone, as Roost marks them; return its id."""
    port = {
        "network_id": network,
        "project_id": alice.project,
        "device_id": server_id,
        "device_owner": "compute:nova",
        "binding:profile": {"roost": {"position": 0, "made": made}},
    }
    token = keystone.login("roost", "service").get_token()
    answer = ask(f"{neutron.url}/v2.0/ports", token, "POST", json={"port": port})
    assert answer.status_code == 201, answer.text
    return answer.json()["port"]["id"]


@pytest.mark.soak
def test_an_audit_lets_ports_go_whose_server_is_buried(
    rig, keystone, alice, image, network, neutron
):
    server = booted(alice, image, uuid=network)
    alice.sdk.compute.delete_server(server)
    alice.sdk.compute.wait_for_delete(server, wait=_PATIENCE)
    made, brought = (
        left_over(keystone, neutron, alice, network, server.id, made=made) for made in (True, False)
    )
    found = audited(rig, "--json")
    assert json.loads(found.stdout)["counts"]["ports without instance"] == 2
    assert audited(rig, "--repair").exit_code == 0
    assert neutron.show("port", made) is None
    left = neutron.show("port", brought)
    assert (left["device_id"], left["device_owner"], left["binding:profile"]) == ("", "", {})
    neutron.delete("port", brought)
