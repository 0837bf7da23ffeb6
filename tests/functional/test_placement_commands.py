"""What operators see of placement, and do about it, on the embedded rig."""

import json
import time
import types

import pytest
import requests
from click.testing import CliRunner

from roost.cmd.manage.cli import roost_manage
from roost.scheduler import client as client_module
from tests.builders import a_spec, a_uuid
from tests.functional.embedded import embedded_cloud
from tests.stories.cloud import wait_until

HOST = "OS-EXT-SRV-ATTR:host"


@pytest.fixture(scope="module")
def shared_cloud(tmp_path_factory):
    with embedded_cloud(tmp_path_factory.mktemp("rig")) as cloud:
        yield cloud


@pytest.fixture
def cloud(shared_cloud):
    yield shared_cloud
    shared_cloud.delete_all()
    assert shared_cloud.audit() == {}


@pytest.fixture
def manage(cloud):
    """Run roost-manage; ``.json`` is the parsed answer."""

    def run(*arguments, code=0):
        command = ["--config-file", str(cloud.plan.config_file("manage")), *map(str, arguments)]
        result = CliRunner().invoke(roost_manage, command)
        assert result.exit_code == code, result.output
        parsed = json.loads(result.stdout) if "--json" in arguments else None
        return types.SimpleNamespace(out=result.stdout, err=result.stderr, json=parsed)

    return run


def refused(cloud, name, **values):
    """Boot a server that no host can take; return its id and its fault."""
    (uuid,) = cloud.boot(flavorRef=cloud.create_flavor(name=name, **values))
    (server,) = cloud.wait([uuid], "ERROR")
    return uuid, server["fault"]


@pytest.mark.parametrize(
    ("name", "size", "reason"),
    [
        ("deep", {"ram": 2**30}, "not enough memory"),
        ("wide", {"vcpus": 2**20}, "not enough CPUs"),
        ("long", {"disk": 2**20}, "not enough disk"),
    ],
)
def test_a_failed_boot_and_its_explanation_say_the_same(cloud, manage, name, size, reason):
    uuid, fault = refused(cloud, name, **size)
    told = json.loads(fault["details"])
    for question in (("--server", uuid), ("--flavor", name, "--image", cloud.image)):
        explained = manage("placement", "explain", *question, "--json", code=1).json
        assert explained["sentence"] == fault["message"] == told["counted"]
        assert explained["filters"] == told["filters"]
    assert reason in fault["message"]
    (said,) = [row for row in told["filters"] if row["refused"]]
    assert said["reasons"] == {reason: len(cloud.plan.all_hosts)}
    assert said["nearest"]["host"] in cloud.plan.all_hosts


def test_a_user_is_told_the_reasons_only(cloud):
    flavor = cloud.create_flavor(name="for-alice", ram=2**30)
    alice = {"X-Auth-Token": "alice:project", "OpenStack-API-Version": "compute 2.90"}
    body = {"name": "s", "flavorRef": flavor, "imageRef": cloud.image, "networks": "none"}
    path = f"{cloud.client.endpoint}/servers"
    answer = requests.post(path, json={"server": body}, headers=alice, timeout=30)
    uuid = answer.json()["server"]["id"]
    cloud.wait([uuid], "ERROR")
    seen = requests.get(f"{path}/{uuid}", headers=alice, timeout=30).json()["server"]["fault"]
    assert seen["message"] == "No valid host was found: not enough memory"
    assert "details" not in seen
    listed = requests.get(f"{path}/{uuid}/os-instance-actions", headers=alice, timeout=30).json()
    assert [one["message"] for one in listed["instanceActions"]] == [seen["message"]]
    requests.delete(f"{path}/{uuid}", headers=alice, timeout=30)


def test_what_is_explained_as_fitting_boots_there(cloud, manage):
    everywhere = sorted(cloud.plan.all_hosts)
    question = ("--flavor", "m1.tiny", "--count", len(everywhere))
    told = manage("placement", "explain", *question, "--json").json
    servers = cloud.wait(cloud.boot(count=len(everywhere)), "ACTIVE")
    assert sorted(place["host"] for place in told["chosen"]) == everywhere
    assert sorted(server[HOST] for server in servers) == everywhere


def test_hosts_and_claims_are_as_they_are(cloud, manage):
    (server,) = cloud.wait(cloud.boot(), "ACTIVE")
    hosts = {row["host"]: row for row in manage("placement", "hosts", "--json").json}
    assert list(hosts) == cloud.plan.all_hosts
    assert all(row["up"] and row["enabled"] for row in hosts.values())
    assert hosts[server[HOST]]["memory_mb_used"] == 512
    (claim,) = manage("placement", "claims", "--host", server[HOST], "--json").json
    assert (claim["instance_uuid"], claim["host"]) == (server["id"], server[HOST])


def places(cloud):
    return {uuid: claim["host"] for uuid, claim in cloud.claims().items()}


def healed(manage):
    rows = manage("placement", "heal", "--settle", 0.1, "--json").json
    return [(row["instance"], row["host"], row["what"]) for row in rows]


def test_a_leaked_claim_and_a_missing_one_are_healed(cloud, manage):
    (server,) = cloud.wait(cloud.boot(), "ACTIVE")
    uuid, host, leaked = server["id"], server[HOST], a_uuid()
    wait_until(lambda: places(cloud).get(uuid), "its claim")
    with cloud.without(host):  # whose reports would heal it, too
        place = cloud.claim(leaked, a_spec())
        cloud.release_claim(uuid)
        counts = manage("placement", "audit", "--settle", 0, "--json", code=1).json["counts"]
        assert counts["claims without instance"] == counts["instances without claim"] == 1

        outcome = [(leaked, place, "released"), (uuid, host, "restored")]
        assert healed(manage) == sorted(outcome)
        assert places(cloud) == {uuid: host}
        manage("placement", "audit")
        assert healed(manage) == []


def test_a_claim_on_another_host_than_its_instance_comes_home(cloud, manage):
    (server,) = cloud.wait(cloud.boot(), "ACTIVE")
    uuid, host = server["id"], server[HOST]
    other = next(name for name in cloud.plan.all_hosts if name != host)
    with cloud.without(host), cloud.without(other):
        cloud.release_claim(uuid)
        cloud.claim(uuid, a_spec(requested_host=other, forced=True))
        assert places(cloud) == {uuid: other}
        assert sorted(healed(manage)) == sorted(
            [(uuid, host, "restored"), (uuid, other, "released")]
        )
        assert places(cloud) == {uuid: host}


def test_a_host_is_removed_when_it_is_empty_and_comes_back_as_a_new_one(cloud, manage):
    host = cloud.plan.all_hosts[-1]
    (uuid,) = cloud.boot(availability_zone=f"nova:{host}")
    cloud.wait([uuid], "ACTIVE")
    with cloud.without(host):
        assert "instances" in manage("cell", "remove-host", host, "--force", code=1).err
    cloud.client.delete_server(uuid)
    cloud.wait_gone([uuid])
    with cloud.without(host):
        assert "counts as up" in manage("cell", "remove-host", host, code=1).err
        assert host in manage("cell", "remove-host", host, "--force").out
        assert host not in [row["host"] for row in manage("placement", "hosts", "--json").json]
        assert host not in [row["host"] for row in manage("service", "list", "--json").json]
        assert host not in [row["host"] for row in manage("cell", "list-hosts", "--json").json]
        assert "nobody knows" in manage("cell", "remove-host", host, code=1).err
    wait_until(
        lambda: (
            {"host": host, "cell": cloud.plan.cell_of(host)}
            in manage("cell", "discover-hosts", "--json").json
        ),
        "the host is discovered again",
    )
    wait_until(
        lambda: host in [row["host"] for row in manage("placement", "hosts", "--json").json],
        "the schedulers know it again",
    )


def test_without_a_scheduler_audits_and_explanations_say_so_soon(cloud, manage, monkeypatch):
    monkeypatch.setattr(client_module, "PROBE_SECONDS", 1)
    with cloud.without("scheduler"):
        began = time.monotonic()
        assert "start roost-scheduler" in manage("placement", "audit", code=1).err
        assert "start roost-scheduler" in manage("audit", code=1).err
        explain = ("placement", "explain", "--flavor", "m1.tiny")
        assert "start roost-scheduler" in manage(*explain, code=1).err
        assert time.monotonic() - began < 30
