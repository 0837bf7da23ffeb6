"""The hosts in memory, and how they keep up with the database."""

import datetime

import pytest
import sqlalchemy as sa

from roost.db.scheduler import hosts as host_rows
from roost.db.scheduler import models
from roost.scheduler.hosts import HostTable
from tests.builders import NOW, a_report


class Seconds:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def seconds():
    return Seconds()


@pytest.fixture
def table(seconds):
    return HostTable(max_age=1.0, clock=seconds)


@pytest.fixture
def store(database):
    def store(host, **values):
        with database.begin() as session:
            report = a_report(host, **values)
            return host_rows.take_in(session, report, reported_at=report.reported_at)

    return store


@pytest.fixture
def refresh(database, table):
    def refresh():
        stale = table.stale()
        with database.read() as session:
            table.refresh(session, stale)
        return {table.hosts.name("host", row) for row in range(len(table.hosts))}

    return refresh


@pytest.fixture
def reads(monkeypatch):
    """The ids of the hosts that were read whole."""
    asked = []
    read = host_rows.read

    def reading(session, ids):
        asked.extend(ids)
        return read(session, ids)

    monkeypatch.setattr(host_rows, "read", reading)
    return asked


def later(minutes):
    return NOW + datetime.timedelta(minutes=minutes)


def test_new_hosts_appear_at_the_next_look(store, refresh, seconds):
    store("h1")
    assert refresh() == {"h1"}
    store("h2")
    assert refresh() == {"h1"}
    seconds.now = 1.0
    assert refresh() == {"h1", "h2"}


def test_a_host_that_this_process_took_in_appears_at_once(store, refresh, table):
    assert refresh() == set()
    table.mark([store("h1")])
    assert refresh() == {"h1"}


def test_only_what_changed_is_read_again(store, refresh, reads, seconds):
    store("h1")
    second = store("h2")
    refresh()
    reads.clear()
    store("h2", reported_at=later(1), enabled=False)
    seconds.now = 1.0
    refresh()
    assert reads == [second]


def test_a_change_reaches_every_column(store, refresh, table, seconds):
    store("h1")
    refresh()
    changed = {"availability_zone": "b", "enabled": False, "vcpus": 3, "reported_at": later(1)}
    store("h1", **changed)
    seconds.now = 1.0
    refresh()
    hosts = table.hosts
    assert hosts.name("zone", 0) == "b"
    assert not hosts.enabled[0]
    assert hosts.free("vcpus").tolist() == [3]
    assert hosts.reported_at.tolist() == [later(1).timestamp()]


def test_a_host_whose_row_is_gone_is_dropped(store, refresh, table, database, seconds):
    store("h1")
    kept = store("h2")
    refresh()
    with database.begin() as session:
        session.execute(sa.delete(models.hosts).where(models.hosts.c.host == "h1"))
    seconds.now = 1.0
    assert refresh() == {"h2"}
    assert table.row(kept) == 0


def test_a_commit_of_ones_own_needs_no_reading(store, refresh, table, database, reads, seconds):
    host_id = store("h1")
    refresh()
    with database.begin() as session:
        session.execute(sa.update(models.hosts).values(vcpus_used=2, generation=2))
    table.apply({host_id: (2, 0, 0)})
    reads.clear()
    seconds.now = 1.0
    refresh()
    assert reads == []
    assert table.hosts.used[:, 0].tolist() == [2, 0, 0]


def test_a_change_of_others_beside_ones_own_is_read(store, refresh, table, database, seconds):
    host_id = store("h1")
    refresh()
    with database.begin() as session:
        session.execute(sa.update(models.hosts).values(vcpus_used=5, generation=3))
    table.apply({host_id: (2, 0, 0)})
    seconds.now = 1.0
    refresh()
    assert table.hosts.used[:, 0].tolist() == [5, 0, 0]


def test_thousands_of_hosts_are_read_in_parts(store, refresh, monkeypatch):
    monkeypatch.setattr(host_rows, "_READ_AT_ONCE", 2)
    for number in range(5):
        store(f"h{number}")
    assert len(refresh()) == 5
