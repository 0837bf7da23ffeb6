"""Aggregates in the API-level database; also run on PostgreSQL and MariaDB."""

import concurrent.futures

import pytest

from roost import exception
from roost.db.api import aggregates
from roost.db.engine import retried

EAST = {"availability_zone": "east"}
WEST = {"availability_zone": "west"}


def an_aggregate(session, name="a", *hosts, **metadata):
    made = aggregates.create(session, name, metadata=metadata)
    for host in hosts:
        aggregates.add_host(session, made.id, host)
    return aggregates.get(session, made.id)


@pytest.fixture
def session(api_db):
    with api_db.begin() as session:
        yield session


def test_names_differ_by_case(session):
    assert {an_aggregate(session, name).name for name in ("a", "A")} == {"a", "A"}


def test_an_aggregate_does_not_become_a_second_zone_of_its_hosts(session):
    an_aggregate(session, "east", "h1", **EAST)
    other = an_aggregate(session, "other", "h1", "h2")
    with pytest.raises(aggregates.InTwoZones, match="east"):
        aggregates.update(session, other.id, metadata=WEST)


@pytest.mark.parametrize(
    ("change", "moved"),
    [
        (lambda s, a: aggregates.add_host(s, a, "h2"), {"h2": (None, "east")}),
        (lambda s, a: aggregates.remove_host(s, a, "h1"), {"h1": ("east", None)}),
        (lambda s, a: aggregates.update(s, a, metadata=WEST), {"h1": ("east", "west")}),
        (
            lambda s, a: aggregates.update(s, a, metadata={"availability_zone": None}),
            {"h1": ("east", None)},
        ),
        (lambda s, a: aggregates.update(s, a, metadata=EAST), {}),
        (lambda s, a: aggregates.update(s, a, name="b", metadata={"ssd": "true"}), {}),
    ],
    ids=["add", "remove", "other zone", "no zone", "same zone", "no matter of zones"],
)
def test_a_change_tells_which_hosts_it_moves(session, change, moved):
    made = an_aggregate(session, "a", "h1", **EAST)
    assert change(session, made.id).moved == moved


def test_every_change_has_a_higher_version_over_deletes_too(session):
    first = an_aggregate(session, "a")
    changes = [
        first,
        aggregates.update(session, first.id, name="b", metadata={}).aggregate,
        aggregates.update(session, first.id, metadata=EAST).aggregate,
        aggregates.add_host(session, first.id, "h1").aggregate,
        aggregates.remove_host(session, first.id, "h1").aggregate,
        aggregates.delete(session, first.id),
        an_aggregate(session, "a"),
    ]
    versions = [aggregate.version for aggregate in changes]
    assert versions == sorted(set(versions))


def test_pages_hold_each_aggregate_once_in_order_of_uuid(session):
    uuids = sorted(an_aggregate(session, f"a{number}", "h1").uuid for number in range(5))
    first = aggregates.list_page(session, after=None, limit=3)
    rest = aggregates.list_page(session, after=first[-1].uuid, limit=3)
    assert [aggregate.uuid for aggregate in first + rest] == uuids
    assert all(aggregate.hosts == ["h1"] for aggregate in first + rest)


def test_hosts_added_at_once_are_all_there_and_versions_differ(api_db):
    with api_db.begin() as session:
        made = an_aggregate(session)

    @retried
    def add(number):
        with api_db.begin() as session:
            return aggregates.add_host(session, made.id, f"h{number}").aggregate

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        changed = list(pool.map(add, range(16)))
    by_version = sorted(changed, key=lambda aggregate: aggregate.version)
    assert [len(aggregate.hosts) for aggregate in by_version] == list(range(1, 17))


def test_of_two_that_put_a_host_into_two_zones_at_once_one_wins(api_db):
    with api_db.begin() as session:
        made = [an_aggregate(session, zone, availability_zone=zone).id for zone in ("a", "b")]

    @retried
    def add(number):
        try:
            with api_db.begin() as session:
                aggregates.add_host(session, made[number % 2], f"h{number // 2}")
        except aggregates.InTwoZones:
            return False
        return True

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        done = list(pool.map(add, range(16)))
    assert [done[n] + done[n + 1] for n in range(0, 16, 2)] == [1] * 8


def test_the_same_name_wanted_at_once_is_given_once(api_db):
    @retried
    def create(_):
        try:
            with api_db.begin() as session:
                aggregates.create(session, "a", metadata={})
        except exception.Conflict:
            return False
        return True

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(create, range(8))) == 1
