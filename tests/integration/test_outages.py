"""The broker or the database goes away under a running rig: nothing exits, nothing is lost."""

import time
from urllib.parse import urlsplit

import pytest
import requests

from roost.rig.forwarder import Forwarder
from tests.stories.cloud import Cloud, wait_until
from tests.stories.real_rig import running


def through(url):
    """A way to the same service that can be shut, and its URL."""
    parts = urlsplit(url)
    way = Forwarder((parts.hostname, parts.port))
    way.open()
    user = f"{parts.netloc.rpartition('@')[0]}@" if "@" in parts.netloc else ""
    return way, parts._replace(netloc=f"{user}127.0.0.1:{way.port}").geturl()


@pytest.fixture(scope="module")
def ways(rabbitmq, postgresql):
    broker, database = through(rabbitmq.url("")), through(postgresql.url(""))
    yield {"broker": broker, "database": database}
    broker[0].close()
    database[0].close()


@pytest.fixture(scope="module")
def rig(rabbitmq, postgresql, ways):
    bus, db = ways["broker"][1], ways["database"][1]
    with running("threading", rabbitmq, postgresql, bus=bus, db=db) as rig:
        yield rig


@pytest.fixture(scope="module")
def cloud(rig):
    cloud = Cloud(rig)
    yield cloud
    cloud.close()


@pytest.fixture(autouse=True)
def clean_slate(cloud, rig):
    before = rig.pids()
    yield
    assert rig.pids() == before
    cloud.delete_all()
    assert cloud.audit() == {}


@pytest.fixture
def broker(ways):
    way = ways["broker"][0]
    yield way
    if not way.is_open:
        way.open()


@pytest.fixture
def database(ways):
    way = ways["database"][0]
    yield way
    if not way.is_open:
        way.open()


def test_a_server_asked_for_while_the_broker_is_away_is_built_when_it_is_back(cloud, broker):
    cloud.wait(cloud.boot(), "ACTIVE")
    broker.close()
    ids = [cloud.boot()[0] for _ in range(3)]
    assert [cloud.show(server_id)["status"] for server_id in ids] == ["BUILD"] * 3
    broker.open()
    cloud.wait(ids, "ACTIVE")


def test_no_host_is_blamed_for_an_outage_of_the_broker(cloud, broker):
    """All were silent for longer than ``service_down_time`` when the conductors hear again."""
    broker.close()
    time.sleep(12)
    broker.open()
    began = time.monotonic()
    ids = [cloud.boot()[0] for _ in range(3)]
    assert time.monotonic() - began < 60  # the answer does not wait for the bus
    cloud.wait(ids, "ACTIVE")


def test_while_the_database_is_away_the_api_says_so_and_goes_on_when_it_is_back(cloud, database):
    database.close()
    answer = requests.get(f"{cloud.client.endpoint}/servers", timeout=60)
    assert answer.status_code == 503
    assert "127.0.0.1" not in answer.text
    database.open()
    wait_until(lambda: requests.get(f"{cloud.client.endpoint}/servers", timeout=60).ok, "an answer")
    cloud.wait(cloud.boot(count=3), "ACTIVE")


def test_builds_under_way_outlive_the_database(cloud, database):
    with cloud.faults({"step": "spawn", "delay": 2}):
        ids = [cloud.boot()[0] for _ in range(3)]
        wait_until(
            lambda: all(cloud.show(i)["OS-EXT-STS:task_state"] == "spawning" for i in ids),
            "spawning",
        )
        database.close()
        time.sleep(4)  # longer than the guests take to start
    database.open()
    cloud.wait(ids, "ACTIVE")
