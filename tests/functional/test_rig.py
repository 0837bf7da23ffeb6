"""The embedded rig: as an object, as a command, and as the demonstration of ``make rig``."""

import hashlib
import hmac
import pathlib
import socket
import subprocess
import sys

import pytest
import requests
from click.testing import CliRunner

from roost import exception
from roost.rig import boots
from roost.rig.cli import main
from roost.rig.client import Client
from roost.rig.plan import Plan
from tests.stories.cloud import wait_until

ROOST_RIG = str(pathlib.Path(sys.executable).parent / "roost-rig")


@pytest.fixture
def command(tmp_path):
    """Run ``roost-rig`` with a folder of its own, which is empty again in the end."""

    def run(name, *arguments):
        return subprocess.run(
            [ROOST_RIG, name, "--state", str(tmp_path / "rig"), *arguments],
            capture_output=True,
            text=True,
            timeout=100,
        )

    yield run
    assert run("down", "--if-there").returncode == 0
    assert not (tmp_path / "rig").exists()


def states(rig):
    return {service["host"]: service["state"] for service in Client(rig.endpoint).services()}


def answers(rig):
    try:
        Client(rig.endpoint).services()
    except exception.Unavailable:
        return False
    except exception.Conflict:
        pass  # of what is left of it, at first
    return True


def test_every_host_and_conductor_is_up_when_it_has_started(rig):
    conductors = [f"{cell}-conductor" for cell in rig.plan.cell_names]
    assert states(rig) == dict.fromkeys([*rig.plan.all_hosts, *conductors, "schedulers"], "up")


def test_a_killed_daemon_can_be_started_again(rig):
    rig.kill("api")
    wait_until(lambda: not answers(rig), "the API is gone")
    rig.start_daemon("api")
    wait_until(lambda: set(states(rig).values()) == {"up"}, "the API answers again")


def test_the_demonstration_shows_every_step_and_may_be_kept_to_use_it(command):
    shown = command("demo", "--keep")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert shown.stderr == ""
    assert shown.stdout.count("ACTIVE in") == 11
    assert "10 of 10 servers are ACTIVE" in shown.stdout
    assert "spawn FAILED" in shown.stdout
    assert "confirmResize   ACTIVE" in shown.stdout
    for step in ("accept", "lease", "select_destinations", "create_in_cell", "spawn"):
        assert shown.stdout.count(step) >= 11
    assert "curl -s http://127.0.0.1:" in shown.stdout
    assert command("status").returncode == 0
    assert "ACTIVE 2" in command("boot", "-n", "2").stdout
    assert "serves" in command("logs", "embedded", "-n", "500").stdout
    for words, why in (
        (("kill", "cell1-host1"), "one process"),
        (("up", "--embedded"), "there is a rig in"),
    ):
        refused = command(*words)
        assert (refused.returncode, why in refused.stderr) == (1, True)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (["--bus", "amqp://me:pw@127.0.0.1:1"], "does not let us in"),
        (["--bus", "nonsense"], "--bus must"),
        (["--embedded", "--bus", "amqp://me@127.0.0.1"], "no --bus"),
        (["--embedded", "--set", "nonsense"], "GROUP.OPTION=VALUE"),
        (["--embedded", "--set", "conductor.max_atempts=1"], "there is no option conductor.max_at"),
        (["--embedded", "--inventory", __file__], "inventory file"),
        (["--embedded", "--with", "neutron"], "neutron needs keystone"),
        (["--embedded", "--with", "keystone,nova"], "--with knows keystone, glance, neutron"),
        (["--driver", "libvirt", "--with", "keystone"], "--with goes with pretended guests only"),
    ],
)
def test_what_cannot_be_started_is_told_and_leaves_nothing(tmp_path, wrong, told):
    refused = CliRunner().invoke(main, ["up", "--state", str(tmp_path / "rig"), *wrong])
    assert refused.exit_code != 0
    assert told in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (tmp_path / "rig").exists()


@pytest.mark.soak  # it makes an environment before pip says so
def test_packages_that_cannot_be_installed_are_told_and_leave_nothing(
    command, tmp_path, monkeypatch
):
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/simple")
    monkeypatch.setenv("PIP_RETRIES", "0")
    cache = tmp_path / "cache"
    refused = command("up", "--embedded", "--with", "keystone", "--cache", str(cache))
    assert refused.returncode == 1
    assert "is the package index reachable?" in refused.stderr
    assert "127.0.0.1" in refused.stderr
    assert not (tmp_path / "rig").exists()
    assert list(cache.rglob("complete")) == []


def test_an_api_that_asks_a_keystone_of_others_is_waited_for_and_judges_everybody(command):
    begun = command(
        *("up", "--embedded", "--cells", "1", "--hosts", "1"),
        *("--set", "api.auth_strategy=keystone", "--set", "keystone_authtoken.auth_type=password"),
        *("--set", "keystone_authtoken.auth_url=http://127.0.0.1:1/v3"),
    )
    assert begun.returncode == 0, begun.stdout + begun.stderr
    assert "openrc" not in begun.stdout
    refused = command("boot")
    assert (refused.returncode, "wants a token of a Keystone" in refused.stderr) == (1, True)


def test_a_port_that_somebody_has_is_refused(command):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        refused = command("up", "--embedded", "--port", str(taken.getsockname()[1]))
    assert (refused.returncode, "is taken" in refused.stderr) == (1, True)


@pytest.mark.soak
def test_an_embedded_rig_runs_on_eventlet_too(command):
    up = command("up", "--embedded", "--cells", "1", "--hosts", "2", "--concurrency", "eventlet")
    assert up.returncode == 0, up.stdout + up.stderr
    booted = command("boot", "-n", "3", "--timeout", "60")
    assert "ACTIVE 3" in booted.stdout, booted.stdout + booted.stderr


def test_guests_of_an_embedded_rig_are_told_of_themselves(command, tmp_path):
    begun = command("up", "--embedded", "--cells", "1", "--hosts", "1", "--metadata")
    assert begun.returncode == 0, begun.stdout + begun.stderr
    plan = Plan.load(tmp_path / "rig")
    assert plan.metadata_endpoint in begun.stdout
    shown = command("status")
    assert shown.returncode == 0, shown.stdout
    (row,) = [line for line in shown.stdout.splitlines() if line.split()[:1] == ["metadata"]]
    assert " ms" in row

    client = Client(plan.endpoint)
    request = boots.BootRequest(
        flavor=boots.choose(client.flavors(), "m1.tiny", "flavor"),
        image=boots.choose(client.images(), None, "image"),
    )
    (server,) = boots.boot(client, request, count=1, timeout=60)
    told = requests.get(
        f"{plan.metadata_endpoint}/openstack/latest/meta_data.json",
        headers={
            "X-Instance-ID": server.id,
            "X-Tenant-ID": client.get(f"/servers/{server.id}")["server"]["tenant_id"],
            "X-Instance-ID-Signature": hmac.new(
                plan.metadata_secret.encode(), server.id.encode(), hashlib.sha256
            ).hexdigest(),
        },
        timeout=30,
    )
    assert told.json()["uuid"] == server.id
