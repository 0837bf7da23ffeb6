"""Aggregates in the scheduler's database: whatever way news travels, the truth is what remains."""

import dataclasses

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roost.db.scheduler import aggregates, models
from roost.objects import Aggregate, SnapshotRange
from tests.builders import an_aggregate

A, B, C = (f"{letter * 8}-0000-4000-8000-000000000000" for letter in "abc")


@pytest.fixture
def database(make_database):
    return make_database("scheduler", models.metadata)


@pytest.fixture
def session(database):
    with database.begin() as session:
        yield session


def take_in(session, *told, **snapshot):
    span = SnapshotRange.of(**snapshot) if snapshot else None
    return aggregates.take_in(session, told, snapshot=span)


def known(session):
    return {one.uuid: one.version for one in aggregates.read_all(session)}


def test_what_a_restored_database_says_counts_though_it_knows_less(session):
    take_in(session, an_aggregate(uuid=A, version=5, name="new"))
    take_in(session, an_aggregate(uuid=B, version=6, deleted=True))
    old = [an_aggregate(uuid=A, version=3, name="old"), an_aggregate(uuid=B, version=4)]
    assert take_in(session, *old, version=7)
    assert aggregates.read_all(session) == old
    assert not take_in(session, *old, version=8)


def test_the_revision_tells_whether_anything_changed(session):
    assert aggregates.revision(session) == 0
    assert take_in(session, an_aggregate(uuid=A, version=1))
    first = aggregates.revision(session)
    assert not take_in(session, an_aggregate(uuid=A, version=1))
    assert not take_in(session, an_aggregate(uuid=A, version=1), version=2)
    assert aggregates.revision(session) == first
    assert take_in(session, version=3)
    assert aggregates.revision(session) > first


@dataclasses.dataclass
class Truth:
    """The API level: it changes aggregates and numbers the changes; ``sent`` has its messages."""

    number: int = 0
    alive: dict = dataclasses.field(default_factory=dict)
    sent: list = dataclasses.field(default_factory=list)

    def create(self, uuid):
        self._change(an_aggregate(uuid=uuid))

    def change(self, uuid):
        self._change(self.alive[uuid].obj_clone())

    def delete(self, uuid):
        self._change(self.alive[uuid].obj_clone())
        self.sent[-1][0][0].deleted = True
        del self.alive[uuid]

    def look(self):
        """Begin a snapshot; each next() reads and sends a page of two."""
        self.number += 1
        version, after = self.number, None
        while True:
            page = [self.alive[uuid] for uuid in sorted(self.alive) if uuid > (after or "")][:2]
            until = page[-1].uuid if len(page) == 2 else None
            span = SnapshotRange.of(version=version, after=after, until=until)
            self.sent.append((page, span))
            if until is None:
                return
            after = until
            yield

    def _change(self, aggregate):
        self.number += 1
        aggregate = Aggregate.of(
            **aggregate.values() | {"version": self.number, "name": str(self.number)}
        )
        self.alive[aggregate.uuid] = aggregate
        self.sent.append(([aggregate], None))


_NUMBERS = st.integers(0, 5)
_STEPS = st.lists(
    st.tuples(st.sampled_from(["create", "change", "delete", "look", "page"]), _NUMBERS),
    max_size=25,
)
_SETTINGS = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def live(steps):
    """Let a truth live through these steps, with looks at it that take a while."""
    truth, looks, unborn = Truth(), [], [f"{n}{A[1:]}" for n in (4, 1, 5, 2, 6, 3) * 5]
    unborn = list(dict.fromkeys(unborn))
    for step, which in steps:
        some = sorted(truth.alive)
        if step == "create" and unborn:
            truth.create(unborn.pop())
        elif step in ("change", "delete") and some:
            getattr(truth, step)(some[which % len(some)])
        elif step == "look":
            looks.append(truth.look())
        if step in ("look", "page") and looks:
            next(looks[which % len(looks)], None)
    return truth


def deliver(database, messages):
    with database.begin() as session:
        for table in (models.aggregates, models.revisions):
            session.execute(sa.delete(table))
        for told, span in messages:
            aggregates.take_in(session, told, snapshot=span)
        return {one.uuid: one for one in aggregates.read_all(session)}


def test_messages_in_any_order_and_doubled_end_in_the_truth(database):
    @_SETTINGS
    @given(steps=_STEPS, data=st.data())
    def tell(steps, data):
        truth = live(steps)
        doubled = data.draw(st.lists(st.sampled_from(truth.sent))) if truth.sent else []
        messages = data.draw(st.permutations(truth.sent + doubled))
        assert deliver(database, messages) == truth.alive

    tell()


def test_lost_messages_are_made_good_by_one_snapshot(database):
    @_SETTINGS
    @given(steps=_STEPS, data=st.data())
    def tell(steps, data):
        truth = live(steps)
        arrived = data.draw(st.lists(st.sampled_from(truth.sent))) if truth.sent else []
        before = len(truth.sent)
        list(truth.look())
        snapshot = data.draw(st.permutations(truth.sent[before:]))
        assert deliver(database, arrived + snapshot) == truth.alive

    tell()
