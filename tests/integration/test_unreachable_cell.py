"""One of two cells is gone, its database and its bus: the rest goes on as if there were one."""

import contextlib
import time
from urllib.parse import urlsplit

import pytest
import requests

from roost import exception
from roost.rig.forwarder import Forwarder
from tests.stories.cloud import Cloud, wait_until
from tests.stories.real_rig import QUICK, running

pytestmark = pytest.mark.timeout(600)
GONE = "cell2"
OPTIONS = {
    "cells": {"timeout": 2.0},
    # a worker that meets the cell at its worst needs its lease for as long as two such waits
    "conductor": QUICK["conductor"] | {"task_lease_seconds": 10.0},
}
BOUND = 20  # seconds for what may take one bounded wait, on a machine that is very busy


class Ways:
    """All ways into the cell that goes away."""

    def __init__(self, broker, database):
        self._ways = {}
        for name, service in ((f"bus/{GONE}", broker), (f"database/{GONE}", database)):
            target = urlsplit(service.url(""))
            self._ways[name] = Forwarder((target.hostname, target.port))

    @property
    def detours(self):
        return {name: f"127.0.0.1:{way.port}" for name, way in self._ways.items()}

    def each(self, do):
        for way in self._ways.values():
            getattr(way, do)()

    @contextlib.contextmanager
    def gone(self, how, back):
        self.each(how)
        try:
            yield
        finally:
            self.each(back)


@pytest.fixture(scope="module")
def ways(rabbitmq, postgresql):
    ways = Ways(rabbitmq, postgresql)
    ways.each("open")
    yield ways
    ways.each("close")


@pytest.fixture(scope="module")
def rig(rabbitmq, postgresql, ways):
    with running(
        "threading", rabbitmq, postgresql, overrides=OPTIONS, hosts=1, detours=ways.detours
    ) as rig:
        yield rig


@pytest.fixture(scope="module")
def cloud(rig):
    cloud = Cloud(rig)
    yield cloud
    cloud.close()


@pytest.fixture
def servers(cloud):
    """Ids of servers by their cells; at least two in each."""
    made = {"cell1": [], GONE: []}

    def spread():
        for server in cloud.wait(cloud.boot(count=2), "ACTIVE"):
            made[cell_of(server)].append(server["id"])
        return all(len(ids) >= 2 for ids in made.values())

    wait_until(spread, "servers in both cells")
    yield made
    cloud.delete_all()
    wait_until(lambda: cloud.audit_unchecked() == [], "all to be seen")
    assert cloud.audit() == {}


def cell_of(server):
    return server["OS-EXT-SRV-ATTR:host"].partition("-")[0]


def listed(cloud, version="2.69", path="servers/detail"):
    """Return the status of each server, and make sure that the list came in bounded time."""
    begun = time.monotonic()
    answer = requests.get(
        f"{cloud.client.endpoint}/{path}",
        headers={"OpenStack-API-Version": f"compute {version}"},
        timeout=60,
    )
    assert answer.status_code == 200, answer.text
    assert time.monotonic() - begun < BOUND
    return {server["id"]: server["status"] for server in answer.json()["servers"]}


def assert_partial(cloud, servers):
    found = listed(cloud)
    assert {found[uuid] for uuid in servers["cell1"]} == {"ACTIVE"}
    assert {found[uuid] for uuid in servers[GONE]} == {"UNKNOWN"}
    assert not {*listed(cloud, "2.68")} & {*servers[GONE]}


def assert_boots_go_elsewhere(cloud):
    booted = cloud.wait(cloud.boot(count=2), "ACTIVE")
    assert {cell_of(server) for server in booted} == {"cell1"}


def assert_deletes_are_refused(cloud, server_id):
    begun = time.monotonic()
    with pytest.raises(exception.Conflict, match="503"):
        cloud.client.delete_server(server_id)
    assert time.monotonic() - begun < BOUND


def restart(cloud, name):
    with cloud.without(name):
        wait_until(lambda: not cloud.rig.pids().get(name), f"the end of {name}")


@pytest.mark.parametrize(
    ("how", "back"), [("close", "open"), ("silence", "resume")], ids=["closed", "black-hole"]
)
def test_a_cell_fails_alone(cloud, ways, servers, how, back):
    first, second, *_ = servers[GONE]
    with ways.gone(how, back):
        assert_partial(cloud, servers)
        assert_boots_go_elsewhere(cloud)
        assert_deletes_are_refused(cloud, first)
        assert cloud.audit_unchecked()
        for daemon in ("api", "super-conductor"):
            restart(cloud, daemon)
        wait_until(cloud.client.answers, "an API that was started meanwhile")
        assert_partial(cloud, servers)
        assert_boots_go_elsewhere(cloud)
    wait_until(lambda: listed(cloud).get(second) == "ACTIVE", "the cell to be back")
    cloud.client.delete_server(first)
    servers[GONE].remove(first)
    cloud.wait_gone([first])
    wait_until(lambda: first not in cloud.claims(), "the delete to be carried out")
