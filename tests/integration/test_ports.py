"""Addresses under real concurrency: what SQLite's single writer cannot show."""

import concurrent.futures

import pytest

from roost import exception, networks
from roost.db.cell import models, ports
from roost.db.engine import Database, retried
from roost.objects import NetworkRequest
from tests.builders import a_uuid

SMALL = networks.parse(["small=10.5.0.0/26"])  # 61 addresses for servers
ANY = NetworkRequest.of(network_id=None, fixed_ip=None, port_id=None, tag=None)


@pytest.fixture
def database(database_url):
    database = Database(database_url, connections=16)
    models.metadata.create_all(database.engine)
    yield database
    database.close()


@pytest.fixture
def allocate(database):
    @retried
    def allocate(instance_uuid, *requests, host="h1"):
        with database.begin() as session:
            return ports.allocate(
                session,
                instance_uuid=instance_uuid,
                host=host,
                requests=requests,
                networks=SMALL,
            ).vifs

    return allocate


@pytest.fixture
def at_once():
    with concurrent.futures.ThreadPoolExecutor(max_workers=8) as pool:
        yield lambda work, times: list(pool.map(lambda _: work(), range(times)))


def test_instances_that_allocate_at_once_never_share_an_address(allocate, at_once):
    def take():
        try:
            return allocate(a_uuid(), ANY)[0].ip
        except exception.NoCapacity:
            return None

    given = at_once(take, 70)
    assert given.count(None) == 9
    assert len(set(given) - {None}) == 61


def test_instances_with_two_interfaces_do_not_get_in_each_others_way(allocate, at_once):
    given = at_once(lambda: allocate(a_uuid(), ANY, ANY), 25)
    assert len({vif.ip for vifs in given for vif in vifs}) == 50


def test_a_request_sent_many_times_at_once_is_served_once(allocate, at_once):
    for _ in range(5):
        uuid = a_uuid()
        given = at_once(lambda uuid=uuid: allocate(uuid, ANY, ANY), 8)
        assert given == [given[0]] * 8


def test_of_many_that_want_one_address_one_gets_it(allocate, at_once):
    wanted = NetworkRequest.of(network_id=None, fixed_ip="10.5.0.9", port_id=None, tag=None)

    def take():
        try:
            return allocate(a_uuid(), wanted)[0].ip
        except exception.AddressInUse:
            return None

    assert sorted(at_once(take, 8), key=str) == ["10.5.0.9"] + [None] * 7
