"""What the API level tells the schedulers again from time to time."""

import concurrent.futures

import pytest

from roost import exception
from roost.conductor.super.scheduler_sync import Snapshots
from roost.db.api import aggregates
from roost.db.scheduler import aggregates as known
from roost.db.scheduler import models as scheduler_models


class Listener:
    """A scheduler that takes in what it is told; ``meanwhile`` happens after each message."""

    def __init__(self, database):
        self.database = database
        self.ranges = []
        self.meanwhile = []
        self.away = False

    def update_aggregates(self, context, *, aggregates, snapshot=None):
        if self.away:
            raise exception.Unavailable("the bus is away")
        self.ranges.append(snapshot)
        with self.database.begin() as session:
            known.take_in(session, aggregates, snapshot=snapshot)
        if self.meanwhile:
            self.meanwhile.pop(0)()

    def update_groups(self, context, *, groups, snapshot=None):
        """Those have tests of their own."""

    def knows(self):
        with self.database.read() as session:
            return known.read_all(session)


@pytest.fixture
def listener(make_database):
    return Listener(make_database("scheduler", scheduler_models.metadata))


@pytest.fixture
def truth(api_db):
    """Do something to aggregates in a transaction of its own."""

    def do(change, *args, **values):
        with api_db.begin() as session:
            return change(session, *args, **values)

    return do


@pytest.fixture
def made(truth):
    """Five aggregates, in order of uuid."""
    made = [truth(aggregates.create, f"a{number}", metadata={}) for number in range(5)]
    return sorted(made, key=lambda aggregate: aggregate.uuid)


def all_of(truth):
    return truth(aggregates.list_page, after=None, limit=100)


@pytest.mark.parametrize("page", [1, 2, 5])
def test_pages_cover_everything(api_db, listener, truth, made, page):
    Snapshots(api_db, listener, page=page).send()
    ends = [(span.after, span.until) for span in listener.ranges]
    assert [after for after, _ in ends] == [None, *[until for _, until in ends[:-1]]]
    assert ends[-1][1] is None
    assert len({span.version for span in listener.ranges}) == 1
    assert listener.knows() == made


def test_what_was_lost_is_made_good(api_db, listener, truth, made):
    Snapshots(api_db, listener).send()
    truth(aggregates.add_host, made[0].id, "h1")
    truth(aggregates.delete, made[1].id)
    truth(aggregates.create, "new", metadata={})
    Snapshots(api_db, listener, page=2).send()
    assert listener.knows() == all_of(truth)


def test_a_change_made_while_pages_are_read_is_not_undone(api_db, listener, truth, made):
    def tell(change, *args, **values):
        changed = truth(change, *args, **values)
        changed = getattr(changed, "aggregate", changed)
        with listener.database.begin() as session:
            known.take_in(session, [changed], snapshot=None)

    listener.meanwhile = [
        lambda: tell(aggregates.update, made[0].id, name="x", metadata={}),  # in a page read before
        lambda: tell(aggregates.update, made[4].id, name="y", metadata={}),  # in one read later
        lambda: tell(aggregates.delete, made[0].id),
        lambda: [tell(aggregates.create, f"new{number}", metadata={}) for number in range(9)],
        lambda: tell(aggregates.delete, made[4].id),
    ]
    Snapshots(api_db, listener, page=1).send()
    assert listener.meanwhile == []
    assert listener.knows() == all_of(truth)
    first_round, listener.ranges = listener.ranges, []
    Snapshots(api_db, listener, page=3).send()
    assert listener.knows() == all_of(truth)
    assert listener.ranges[0].version > first_round[0].version


def test_a_change_under_way_is_waited_for(api_db, listener, truth, made):
    """Its number is lower than the snapshot's, so it must be seen, or it would be undone."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with api_db.begin() as session:
            new = aggregates.create(session, "new", metadata={})
            sending = pool.submit(Snapshots(api_db, listener).send)
            assert not concurrent.futures.wait([sending], timeout=0.2).done
        sending.result(20)
    assert new in listener.knows()
    assert listener.ranges[0].version > new.version


def test_a_late_snapshot_of_another_conductor_undoes_nothing(api_db, listener, truth, made):
    late = Listener(listener.database)
    late.meanwhile = [
        lambda: truth(aggregates.delete, made[0].id),
        Snapshots(api_db, listener).send,
        lambda: truth(aggregates.create, "new", metadata={}),
        Snapshots(api_db, listener).send,
    ]
    Snapshots(api_db, late, page=1).send()
    assert listener.knows() == all_of(truth)


def test_the_first_snapshots_follow_each_other_soon(api_db, listener):
    snapshots, pauses = Snapshots(api_db, listener), []
    for _ in range(8):
        snapshots.send()
        pauses.append(snapshots.pause())
    assert pauses == [2, 4, 8, 16, 32, 60, 60, 60]
