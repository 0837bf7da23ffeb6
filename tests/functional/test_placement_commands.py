"""What operators see of placement, and do about it, on the embedded rig."""

import json
import types

import pytest
import requests
import sqlalchemy as sa
from click.testing import CliRunner

from roost.cmd.manage.cli import roost_manage
from roost.db.engine import Database
from roost.db.scheduler import hosts, models
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
    assert seen["message"] == "No valid host was found. Not enough memory"
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


def test_a_host_that_cannot_be_read_is_named_until_its_next_news_and_others_get_servers(
    cloud, manage
):
    bad, *others = cloud.plan.all_hosts
    database, table = Database(cloud.plan.database_url("scheduler"), connections=1), models.hosts

    def store(**values):
        touched = hosts.touched(described=True)
        change = sa.update(table).where(table.c.host == bad).values(**values, **touched)
        database.write(lambda session: session.execute(change))

    def unreadable():
        found = manage("placement", "hosts", "--json").json
        return [row["host"] for row in found if row["unreadable"]]

    store(profile="[]")
    assert f"{bad}: what is stored of it cannot be read: " in manage("placement", "hosts").err
    assert unreadable() == [bad]
    servers = cloud.wait(cloud.boot(count=2), "ACTIVE")
    assert {server[HOST] for server in servers} <= set(others)
    store(description_digest="")
    wait_until(lambda: unreadable() == [], "a report that is stored anew")
    database.close()


def test_hosts_may_be_wanted_by_labels(cloud, manage):
    first, *others = cloud.plan.all_hosts
    question = ("placement", "explain", "--flavor", "m1.tiny", "--json")
    for how in (("--label", f"host={first}"), ("--prefer", f"host={first}")):
        (place,) = manage(*question, *how).json["chosen"]
        assert place["host"] == first
    told = manage(*question, "--label", "pool=fast", code=1).json["sentence"]
    assert told == f"No valid host was found. {len(others) + 1} hosts: not at pool=fast"
