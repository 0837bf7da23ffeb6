"""Aggregates and zones, told through HTTP: where their servers end up, and where they do not."""

import pytest

from roost import exception
from roost.db.api import aggregates as rows
from roost.db.engine import Database
from tests.stories.boots import clean_slate  # noqa: F401 - after each of these, too
from tests.stories.cloud import wait_until

HOST = "OS-EXT-SRV-ATTR:host"
ZONE = "OS-EXT-AZ:availability_zone"


@pytest.fixture
def aggregate(cloud):
    """Make aggregates of hosts, which go when the story ends."""
    made = []

    def make(name, *hosts, **body):
        answer = cloud.client.post("/os-aggregates", {"aggregate": {"name": name} | body})
        made.append(answer["aggregate"]["id"])
        for host in hosts:
            act(cloud, made[-1], add_host={"host": host})
        return made[-1]

    yield make
    cloud.delete_all()  # a host with servers stays in its zone
    for found in cloud.client.get("/os-aggregates")["aggregates"]:
        for host in found["hosts"]:
            act(cloud, found["id"], remove_host={"host": host})
        cloud.client.delete(f"/os-aggregates/{found['id']}")


def act(cloud, aggregate_id, **action):
    return cloud.client.post(f"/os-aggregates/{aggregate_id}/action", action)["aggregate"]


def end_of_boot(cloud, **values):
    """Boot a server and return it when it is ACTIVE or in ERROR."""
    (uuid,) = cloud.boot(**values)

    def look():
        server = cloud.show(uuid)
        return server if server["status"] in ("ACTIVE", "ERROR") else None

    return wait_until(look, f"an end of {uuid}")


def boot_in(cloud, zone, *, until):
    """Boot servers one after the other until one ends so; return it.

    Schedulers learn of a change a moment after it was made; that is also why each story has a zone
    of its own.
    """

    def attempt():
        server = end_of_boot(cloud, availability_zone=zone)
        return server if server["status"] == until else None

    return wait_until(attempt, f"a server in zone {zone} that is {until}", timeout=30)


def zones(cloud):
    found = cloud.client.get("/os-availability-zone/detail")["availabilityZoneInfo"]
    return {zone["zoneName"]: sorted(zone["hosts"]) for zone in found}


def test_servers_land_in_the_zone_of_an_aggregate(cloud, aggregate):
    host = cloud.plan.all_hosts[-1]
    aggregate("moon", host, availability_zone="moon")
    assert zones(cloud)["moon"] == [host]
    first = boot_in(cloud, "moon", until="ACTIVE")
    others = cloud.wait([cloud.boot(availability_zone="moon")[0] for _ in range(3)], "ACTIVE")
    assert {(server[HOST], server[ZONE]) for server in (first, *others)} == {(host, "moon")}


def test_servers_of_other_zones_keep_out_of_it(cloud, aggregate):
    host = cloud.plan.all_hosts[0]
    aggregate("mars", host, availability_zone="mars")
    boot_in(cloud, "mars", until="ACTIVE")
    rest = cloud.wait(cloud.boot(count=8, availability_zone="nova"), "ACTIVE")
    assert host not in {server[HOST] for server in rest}


def test_a_zone_that_has_lost_its_host_takes_no_servers(cloud, aggregate):
    host = cloud.plan.all_hosts[0]
    venus = aggregate("venus", host, availability_zone="venus")
    boot_in(cloud, "venus", until="ACTIVE")
    cloud.delete_all()
    act(cloud, venus, remove_host={"host": host})
    assert "venus" not in zones(cloud)
    wait_until(lambda: is_refused(cloud, "venus"), "the API to look at the zones again")
    cloud.delete_all()


def is_refused(cloud, zone):
    try:
        cloud.boot(availability_zone=zone)
    except exception.Conflict as error:
        return zone in str(error)
    return False


def test_a_change_that_nobody_was_told_of_is_learned_all_the_same(cloud, aggregate):
    database = Database(cloud.plan.database_url("api"), connections=1)
    with database.begin() as session:
        made = rows.create(session, "jupiter", metadata={"availability_zone": "jupiter"})
        rows.add_host(session, made.id, cloud.plan.all_hosts[0])
    database.close()
    assert boot_in(cloud, "jupiter", until="ACTIVE")[HOST] == cloud.plan.all_hosts[0]
