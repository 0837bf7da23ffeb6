"""Aggregates in the API-level database; also run on PostgreSQL and MariaDB."""

import concurrent.futures

import pytest
import sqlalchemy as sa

from roost import exception
from roost.db.api import aggregates, models, revisions
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


def test_an_aggregate_is_found_as_it_was_made(session):
    made = aggregates.create(session, "a", metadata=EAST)
    assert (made.name, made.hosts, made.metadata) == ("a", [], EAST)
    assert aggregates.get(session, made.id) == made


def test_one_that_is_not_there_is_named(session):
    with pytest.raises(exception.NotFound, match=r"Aggregate 7 could not be found\."):
        aggregates.get(session, 7)


def test_a_name_is_taken_once(session):
    an_aggregate(session, "a")
    with pytest.raises(exception.Conflict, match=r"Aggregate a already exists\."):
        an_aggregate(session, "a")


def test_another_ones_name_cannot_be_taken_but_the_own_one_kept(session):
    made = an_aggregate(session, "a")
    an_aggregate(session, "b")
    with pytest.raises(exception.Conflict, match="already exists"):
        aggregates.update(session, made.id, name="b", metadata={})
    assert aggregates.update(session, made.id, name="a", metadata={}).aggregate.name == "a"


def test_names_differ_by_case(session):
    assert {an_aggregate(session, name).name for name in ("a", "A")} == {"a", "A"}


def test_metadata_is_added_changed_and_taken_away_by_key(session):
    made = an_aggregate(session, "a", ssd="true", gpu="no")
    changes = {"ssd": None, "gpu": "yes", "net": "fast", "nothing": None}
    changed = aggregates.update(session, made.id, metadata=changes).aggregate
    assert changed.metadata == {"gpu": "yes", "net": "fast"}


def test_hosts_come_and_go(session):
    made = an_aggregate(session, "a", "h2", "h1")
    assert made.hosts == ["h1", "h2"]
    assert aggregates.remove_host(session, made.id, "h1").aggregate.hosts == ["h2"]


def test_a_host_is_added_and_removed_once(session):
    made = an_aggregate(session, "a", "h1")
    with pytest.raises(exception.Conflict, match="already has host h1"):
        aggregates.add_host(session, made.id, "h1")
    aggregates.remove_host(session, made.id, "h1")
    with pytest.raises(exception.NotFound, match="has no host h1"):
        aggregates.remove_host(session, made.id, "h1")


def test_a_host_is_in_one_zone(session):
    an_aggregate(session, "east", "h1", **EAST)
    west = an_aggregate(session, "west", **WEST)
    with pytest.raises(aggregates.InTwoZones, match=r"availability zone\(s\) \['east'\]"):
        aggregates.add_host(session, west.id, "h1")


def test_an_aggregate_does_not_become_a_second_zone_of_its_hosts(session):
    an_aggregate(session, "east", "h1", **EAST)
    other = an_aggregate(session, "other", "h1", "h2")
    with pytest.raises(aggregates.InTwoZones, match="east"):
        aggregates.update(session, other.id, metadata=WEST)


def test_a_host_may_be_in_many_aggregates_of_one_zone(session):
    for name in ("a", "b"):
        an_aggregate(session, name, "h1", **EAST)
    an_aggregate(session, "c", "h1", "h2")
    assert aggregates.zones(session) == {"h1": "east"}


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


def test_a_host_that_another_aggregate_keeps_in_its_zone_is_not_moved(session):
    an_aggregate(session, "a", "h1", **EAST)
    other = an_aggregate(session, "b", "h1", **EAST)
    assert aggregates.remove_host(session, other.id, "h1").moved == {}


def test_only_an_empty_aggregate_is_deleted(session):
    made = an_aggregate(session, "a", "h1", **EAST)
    with pytest.raises(exception.Conflict, match="not empty"):
        aggregates.delete(session, made.id)
    aggregates.remove_host(session, made.id, "h1")
    assert aggregates.delete(session, made.id).deleted
    assert aggregates.list_all(session) == []
    with pytest.raises(exception.NotFound):
        aggregates.delete(session, made.id)


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


def test_a_restored_database_is_ahead_of_what_it_has_forgotten(session):
    told = an_aggregate(session, "a")
    session.execute(sa.update(models.api_revisions).values(number=1))
    assert aggregates.add_host(session, told.id, "h1").aggregate.version > told.version


def test_numbers_of_other_kinds_are_of_no_matter(session):
    revisions.advance(session, "others")
    first = revisions.advance(session, revisions.AGGREGATES)
    assert revisions.advance(session, revisions.AGGREGATES) > first


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
