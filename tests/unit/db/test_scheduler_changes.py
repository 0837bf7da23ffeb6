"""The changes of hosts, asked for from a marker on."""

import datetime

import pytest
import sqlalchemy as sa

from roost import exception
from roost.db import clock as database_clock
from roost.db.scheduler import changes, claims, models, reports, tombstones
from roost.db.scheduler import hosts as host_rows
from tests.builders import NOW, a_report, taken

MINUTE = datetime.timedelta(minutes=1)


@pytest.fixture
def database(make_database):
    return make_database("scheduler", models.metadata)


@pytest.fixture
def store(database):
    """Have hosts report, so many minutes ago by the clock of the database."""

    def store(*names, ago):
        with database.begin() as session:
            for name in names:
                reports.take_in(session, a_report(name), reported_at=NOW)
                at = database_clock.now(session) - ago * MINUTE
                mine = sa.update(models.hosts).where(models.hosts.c.host == name)
                session.execute(mine.values(touched_at=at))

    return store


@pytest.fixture
def claim(database):
    def claim(host, *, vcpus, ago=0):
        with database.begin() as session:
            at = database_clock.now(session) - ago * MINUTE
            values = {
                "used": taken(vcpus=vcpus),
                **host_rows.touched(described=False),
                "touched_at": at,
            }
            mine = sa.update(models.hosts).where(models.hosts.c.host == host)
            session.execute(mine.values(values))

    return claim


@pytest.fixture
def since(database):
    def since(marker=None, limit=100):
        with database.read() as session:
            return changes.since(session, marker=marker, limit=limit)

    return since


@pytest.fixture
def ask(since):
    """Return the names of hosts on all pages from a marker on, and the next marker."""

    def ask(marker=None, limit=100):
        names, more = [], True
        while more:
            page = since(marker, limit)
            names += [change.host for change in page.changes]
            marker, more = page.marker, page.more
        return names, marker

    return ask


def test_hosts_come_in_the_order_of_their_last_changes(store, claim, ask):
    store("h1", "h2", "h3", ago=9)
    claim("h2", vcpus=1)
    assert ask()[0] == ["h1", "h3", "h2"]


@pytest.mark.parametrize("limit", [1, 2, 3, 4])
def test_pages_together_have_every_host_once(store, ask, limit):
    store("h1", "h2", ago=9)
    store("h3", ago=8)
    assert ask(limit=limit)[0] == ["h1", "h2", "h3"]


def test_who_goes_on_gets_what_changed_meanwhile_and_its_generation(store, claim, since, ask):
    store("h1", "h2", ago=9)
    _all, marker = ask()
    claim("h2", vcpus=3)
    (change,) = since(marker).changes
    assert (change.host, change.generation, change.described) == ("h2", 2, 1)
    assert (change.used[""]["VCPU"], change.enabled, change.changed) == (3, True, [])


def test_a_change_that_was_committed_late_is_not_skipped(store, claim, ask):
    """Its transaction began before the listing, and ended after it."""
    store("h1", "h2", ago=9)
    claim("h2", vcpus=1)
    _all, marker = ask()
    claim("h1", vcpus=3, ago=0.2)
    assert ask(marker)[0] == ["h1", "h2"]


def test_a_change_that_was_committed_late_within_a_listing_is_in_the_next_one(store, claim, since):
    store("h1", "h2", "h3", ago=9)
    claim("h2", vcpus=1)
    claim("h3", vcpus=1)
    page = since(limit=2)
    claim("h1", vcpus=3, ago=0.2)
    page = since(page.marker, limit=2)
    assert [change.host for change in page.changes] == ["h3"]
    assert [change.host for change in since(page.marker).changes] == ["h1", "h2", "h3"]


def test_a_host_that_was_removed_is_among_the_changes_for_a_day(database, store, since, ask):
    store("h1", "h2", ago=9)
    _all, marker = ask()
    with database.begin() as session:
        (removed,) = host_rows.remove(session, "h1")
    (change,) = since(marker).changes
    assert (change.id, change.host, change.generation) == (removed, "h1", 2)
    assert (change.changed, change.used, change.reported_at) == (["removed"], None, None)
    assert ask()[0] == ["h2"]
    with database.begin() as session:
        assert tombstones.forget(session) == 0
        session.execute(sa.update(models.removed_hosts).values(removed_at=NOW))
        assert tombstones.forget(session) == 1
    assert since(marker).changes == []


def test_a_host_that_comes_back_is_another_one(database, store, since, ask):
    store("h1", "h2", ago=9)
    _all, marker = ask()
    with database.begin() as session:
        host_rows.remove(session, "h1")
    store("h1", ago=0)
    store("h2", ago=0)
    found = {(change.host, tuple(change.changed)): change for change in since(marker).changes}
    assert found["h1", ()].id > found["h1", ("removed",)].id


def test_a_marker_older_than_removed_hosts_are_known_is_refused(store, since):
    store("h1", ago=9)
    old = since().marker.replace(str(datetime.datetime.now(datetime.UTC).year), "2020")
    with pytest.raises(exception.NotFound, match="begin again"):
        since(old)


@pytest.mark.parametrize("text", ["", "x", "1/2/3", "2026-01-01/x/2026-01-01"])
def test_what_is_no_marker_is_refused(since, text):
    with pytest.raises(exception.Invalid, match="marker"):
        since(text)


def test_hosts_are_read_as_they_are_now_with_what_changed_of_them(database, store, claim):
    store("h1", "h2", "h3", ago=9)
    claim("h1", vcpus=3)
    with database.begin() as session:
        (first,) = host_rows.ids_of(session, "h1")
        (second,) = host_rows.remove(session, "h2")
        changed = {first: {"claims", "liveness"}, second: {"removed"}, 10**6: {"claims"}}
        found = changes.read(session, changed)
    assert [(change.host, change.changed) for change in found] == [
        ("h1", ["claims", "liveness"]),
        ("h2", ["removed"]),
    ]


@pytest.mark.parametrize("limit", [0, -1, 2**70, True, "5", None])
def test_a_limit_that_is_none_is_refused_in_words(database, since, limit):
    pages = (
        lambda session: changes.since(session, marker=None, limit=limit),
        lambda session: reports.list_page(
            session, marker=None, limit=limit, is_up=bool, problem_of=str
        ),
        lambda session: claims.list_page(session, marker=None, limit=limit, now=NOW),
    )
    for page in pages:
        with (
            database.read() as session,
            pytest.raises(exception.Invalid, match=rf"limit must be .* not {limit!r}\."),
        ):
            page(session)


@pytest.mark.parametrize(
    "marker", [f"{NOW}/{2**70}/{NOW}", f"{NOW}/-1/{NOW}", "0001-01-01T00:00+14:00/1/2026-01-01"]
)
def test_a_marker_that_no_page_had_is_refused(since, marker):
    with pytest.raises(exception.Invalid, match="is no marker of changes"):
        since(marker)
