"""The hosts in memory, and how they keep up with the database."""

import datetime

import pytest
import sqlalchemy as sa

from roost.db import clock as database_clock
from roost.db.scheduler import aggregates as aggregate_rows
from roost.db.scheduler import cells as cell_rows
from roost.db.scheduler import hosts as host_rows
from roost.db.scheduler import models, reports
from roost.objects import Aggregate, CellLiveness
from roost.scheduler.liveness import LivenessTimeouts
from roost.scheduler.table import HostTable
from tests.builders import CELL1, NOW, a_report, a_uuid, taken


class Seconds:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def seconds():
    return Seconds()


@pytest.fixture
def table(seconds, clock):
    return HostTable(
        silence=LivenessTimeouts(host=120, cell=60),
        max_age=1.0,
        whole_every=60,
        clock=seconds,
        now=clock,
    )


@pytest.fixture
def store(database):
    def store(host, **values):
        with database.begin() as session:
            report = a_report(host, **values)
            return reports.take_in(session, report, reported_at=report.reported_at).host_id

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
def look(refresh, seconds):
    """Refresh when it is time to look."""

    def look():
        seconds.now += 1.0
        return refresh()

    return look


@pytest.fixture
def tell(database):
    """Tell of an aggregate."""

    def tell(*hosts, version=1, deleted=False, uuid=CELL1, **metadata):
        aggregate = Aggregate.of(
            id=1,
            uuid=uuid,
            name="a",
            hosts=list(hosts),
            metadata=metadata,
            version=version,
            deleted=deleted,
        )
        with database.begin() as session:
            aggregate_rows.take_in(session, [aggregate], snapshot=None)

    return tell


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


def a_usage(host_id, generation):
    return host_rows.Usage(host_id, generation, 1, 0.0, 1, taken(vcpus=2))


def use(database, **values):
    with database.begin() as session:
        session.execute(sa.update(models.hosts).values(values))


def test_new_hosts_appear_at_the_next_look(store, refresh, look):
    store("h1")
    assert refresh() == {"h1"}
    store("h2")
    assert refresh() == {"h1"}
    assert look() == {"h1", "h2"}


def test_a_host_that_this_process_took_in_appears_at_once(store, refresh, table):
    assert refresh() == set()
    table.mark([store("h1")])
    assert refresh() == {"h1"}


def test_only_what_is_described_anew_is_read_whole_again(store, refresh, look, reads):
    store("h1")
    second = store("h2")
    refresh()
    reads.clear()
    store("h1", reported_at=later(1))
    store("h2", reported_at=later(1), enabled=False)
    look()
    assert reads == [second]


def test_usage_is_taken_over_without_reading_the_host(store, refresh, look, table, database, reads):
    store("h1")
    refresh()
    reads.clear()
    use(database, used={"": {"VCPU": 2}}, generation=2)
    look()
    assert reads == []
    assert table.hosts.used_of("VCPU").tolist() == [2]


def test_a_change_reaches_every_column(store, refresh, look, table):
    store("h1")
    refresh()
    store(
        "h1",
        availability_zone="b",
        enabled=False,
        vcpus=3,
        traits=["HW_X"],
        metrics={"heat": 0.5},
        reported_at=later(1),
    )
    look()
    host = table.hosts.one(0)
    assert (host.availability_zone, host.enabled, host.free("VCPU")) == ("b", False, 3)
    assert (host.profile.traits, host.metrics) == ({"HW_X"}, {"heat": 0.5})
    assert table.hosts.reported_at.tolist() == [later(1).timestamp()]


def test_a_host_whose_row_is_gone_is_dropped_at_the_next_look_at_all(
    store, refresh, table, database, seconds
):
    store("h1")
    kept = store("h2")
    refresh()
    with database.begin() as session:
        session.execute(sa.delete(models.hosts).where(models.hosts.c.host == "h1"))
    seconds.now = 60.0
    assert refresh() == {"h2"}
    assert table.row(kept) == 0


def test_a_change_that_was_committed_very_late_is_found_by_the_look_at_all(
    store, refresh, look, table, database, seconds
):
    """Its time is that of a transaction which took longer than looks reach back."""
    store("h1")
    refresh()
    use(database, used={"": {"VCPU": 5}}, generation=7, touched_at=NOW)
    look()
    assert table.hosts.used_of("VCPU").tolist() == [0]
    seconds.now = 60.0
    refresh()
    assert table.hosts.used_of("VCPU").tolist() == [5]


def test_transactions_may_commit_in_any_order(store, refresh, look, table, database):
    """One that was there first in time, and last to commit, is not missed."""
    store("h1")
    refresh()
    with database.read() as session:
        before = database_clock.now(session)
    look()
    use(database, used={"": {"VCPU": 5}}, generation=7, touched_at=before)
    look()
    assert table.hosts.used_of("VCPU").tolist() == [5]


def test_a_table_that_is_fed_looks_less_often_and_finds_what_was_lost(
    store, seconds, clock, database
):
    table = HostTable(is_fed=lambda: True, clock=seconds, now=clock)

    def seen():
        with database.read() as session:
            table.refresh(session, table.stale())
        return len(table.hosts)

    store("h1")
    assert seen() == 1
    store("h2")
    seconds.now = 9.0
    assert seen() == 1
    seconds.now = 10.0
    assert seen() == 2


def test_a_commit_of_ones_own_needs_no_reading(store, refresh, look, table, database, reads):
    host_id = store("h1")
    refresh()
    use(database, used={"": {"VCPU": 2}}, generation=2)
    table.hosts.take(0, taken(vcpus=2))
    table.committed([a_usage(host_id, 2)])
    reads.clear()
    look()
    assert reads == []
    assert table.hosts.used_of("VCPU").tolist() == [2]


def test_a_change_of_others_beside_ones_own_is_taken_over(store, refresh, look, table, database):
    host_id = store("h1")
    refresh()
    use(database, used={"": {"VCPU": 5}}, generation=3)
    table.hosts.take(0, taken(vcpus=2))
    table.committed([a_usage(host_id, 2)])
    look()
    assert table.hosts.used_of("VCPU").tolist() == [5]


def test_an_aggregates_zone_and_ratios_count_for_its_hosts(store, tell, look, table):
    store("h1", vcpus=4)
    store("h2", vcpus=4)
    tell("h1", availability_zone="east", cpu_allocation_ratio="2.5")
    look()
    hosts = table.hosts
    assert [hosts.name("zone", row) for row in (0, 1)] == ["east", "nova"]
    assert hosts.capacity_of("VCPU").tolist() == [10, 4]


def test_of_several_ratios_the_smallest_counts_and_nonsense_none(store, tell, look, table):
    store("h1", vcpus=4)
    tell("h1", uuid=a_uuid(), cpu_allocation_ratio="3")
    tell("h1", uuid=a_uuid(), cpu_allocation_ratio="2")
    tell("h1", uuid=a_uuid(), cpu_allocation_ratio="many")
    look()
    assert table.hosts.capacity_of("VCPU").tolist() == [8]


def test_an_aggregate_that_ends_leaves_hosts_as_they_said(store, tell, look, table):
    store("h1", vcpus=4)
    tell("h1", availability_zone="east", cpu_allocation_ratio="2")
    look()
    tell(version=2, deleted=True)
    look()
    assert table.hosts.name("zone", 0) == "nova"
    assert table.hosts.capacity_of("VCPU").tolist() == [4]


def test_what_hosts_and_aggregates_were_is_not_remembered_for_ever(
    store, tell, refresh, table, seconds
):
    for number in range(150):
        store("h1", reported_at=later(number), traits=[f"T{number}"])
        tell("h1", version=number + 1, **{f"key{number}": "x"})
        seconds.now += 1.0
        refresh()
    seconds.now += 60.0
    refresh()
    shared = table.hosts.shared
    assert max(len(shared.profiles), len(shared.memberships)) < 110
    assert table.hosts.one(0).profile.traits == {"T149"}
    assert (shared.says("key149"), shared.says("key1")) == (True, False)


@pytest.fixture
def hear(database, clock):
    """Hear from a cell's conductors."""

    def hear(cell=CELL1, **lists):
        liveness = CellLiveness.of(
            cell_uuid=cell, version=int(clock.now.timestamp() * 1e6), whole=True, **lists
        )
        with database.begin() as session:
            cell_rows.take_in(session, liveness, reported_at=clock.now)

    return hear


def up(table):
    return {table.hosts.name("host", row): bool(up) for row, up in enumerate(table.hosts.up)}


def test_a_host_is_down_when_its_cell_says_so(store, hear, look, table):
    store("h1")
    store("h2")
    hear(up=["h1"], down=["h2"])
    look()
    assert up(table) == {"h1": True, "h2": False}
