"""Server groups in the scheduler's database: members by their claims, news by versions."""

import concurrent.futures
import dataclasses
import itertools

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roost.db.engine import retried
from roost.db.scheduler import models, server_groups
from roost.db.types import UtcDateTime
from roost.objects import SnapshotRange
from tests.builders import NOW, a_group, a_uuid

A, B, C = (f"{letter * 8}-0000-4000-8000-000000000000" for letter in "abc")


@pytest.fixture
def database(make_database):
    return make_database("scheduler", models.metadata)


@pytest.fixture
def session(database):
    with database.begin() as session:
        yield session


def a_host(session, name="h1"):
    """Insert a host of which no more matters than that it is there."""
    columns = models.hosts.columns
    needed = [c for c in columns if not (c.nullable or c.default or c.primary_key)]
    row = {c.name: NOW if isinstance(c.type, UtcDateTime) else name for c in needed}
    return session.execute(sa.insert(models.hosts).values(row)).inserted_primary_key[0]


def a_claim(session, host_id, group=None):
    uuid = a_uuid()
    row = {"instance_uuid": uuid, "host_id": host_id, "group_uuid": group}
    row |= {"state": "confirmed", "created_at": NOW}
    session.execute(sa.insert(models.claims).values(row))
    return uuid


def alive(session):
    groups = models.server_groups.c
    return set(session.scalars(sa.select(groups.uuid).where(groups.deleted.is_(False))))


def take_in(session, *groups, snapshot=None):
    return server_groups.take_in(session, groups, snapshot=snapshot)


def test_a_change_of_members_makes_a_new_generation(session):
    server_groups.lock(session, [A, B])
    server_groups.grow(session, [A])
    assert server_groups.lock(session, [A, B, C]) == {A: 1, B: 0, C: 0}


def test_members_are_counted_by_host(session):
    h1, h2 = a_host(session, "h1"), a_host(session, "h2")
    for host, group in ((h1, A), (h1, A), (h2, A), (h2, B), (h2, None)):
        a_claim(session, host, group)
    found = server_groups.members_by_host(session, [A, C])
    assert found == {A: {h1: 2, h2: 1}, C: {}}


def test_what_a_restored_database_says_counts_though_it_knows_less(session):
    take_in(session, a_group(uuid=A, version=5, deleted=True))
    assert take_in(session, a_group(uuid=A, version=3), snapshot=SnapshotRange.of(version=6))
    assert alive(session) == {A}
    assert not take_in(session, a_group(uuid=A, version=5, deleted=True))
    assert not take_in(session, a_group(uuid=A, version=3), snapshot=SnapshotRange.of(version=7))


def test_a_claim_without_group_learns_it_from_the_members(session):
    host = a_host(session)
    stray, known = a_claim(session, host), a_claim(session, host, A)
    assert take_in(session, a_group(uuid=A, version=1, members=[stray, known, a_uuid()]))
    assert server_groups.members_by_host(session, [A]) == {A: {host: 2}}
    assert server_groups.lock(session, [A]) == {A: 1}


def test_an_old_snapshot_still_tells_of_members(session):
    host = a_host(session)
    take_in(session, a_group(uuid=A, version=1))
    stray = a_claim(session, host)
    page = a_group(uuid=A, version=1, members=[stray])
    assert take_in(session, page, snapshot=SnapshotRange.of(version=1))
    assert not take_in(session, page, snapshot=SnapshotRange.of(version=1))
    assert server_groups.members_by_host(session, [A]) == {A: {host: 1}}


def test_a_claim_keeps_the_group_it_was_made_with(session):
    host = a_host(session)
    member = a_claim(session, host, B)
    take_in(session, a_group(uuid=A, version=1, members=[member]))
    assert server_groups.members_by_host(session, [A, B]) == {A: {}, B: {host: 1}}
    assert server_groups.lock(session, [A]) == {A: 0}


def test_nobody_joins_a_group_that_is_deleted(session):
    stray = a_claim(session, a_host(session))
    take_in(session, a_group(uuid=A, version=2, deleted=True))
    take_in(session, a_group(uuid=A, version=1, members=[stray]))
    assert server_groups.members_by_host(session, [A]) == {A: {}}


def test_groups_met_for_the_first_time_by_many_at_once_are_locked_by_each_in_turn(database):
    groups = [a_uuid() for _ in range(8)]

    @retried
    def change(number):
        mine = groups[number % 5 : number % 5 + 4]
        with database.begin() as session:
            server_groups.lock(session, mine)
            server_groups.grow(session, mine)
        return mine

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        changed = [uuid for mine in pool.map(change, range(40)) for uuid in mine]
    with database.begin() as session:
        generations = server_groups.lock(session, groups)
    assert generations == {uuid: changed.count(uuid) for uuid in groups}


@dataclasses.dataclass
class Api:
    """The API level's side: what exists, and every message it ever sent."""

    version: int = 0
    groups: dict = dataclasses.field(default_factory=dict)
    sent: list = dataclasses.field(default_factory=list)

    def change(self, uuid):
        """Create the group, or delete it: then it never comes back."""
        self.version += 1
        if uuid in self.groups:
            gone = self.groups.pop(uuid)
            told = a_group(uuid=gone.uuid, version=self.version, deleted=True)
        else:
            told = self.groups[uuid] = a_group(uuid=uuid, version=self.version)
        self.sent.append(((told,), None))

    def look(self, *cuts):
        """Send a snapshot, in pages that end where it is cut."""
        ends = [None, *sorted(cuts), None]
        for after, until in itertools.pairwise(ends):
            page = tuple(
                group
                for uuid, group in self.groups.items()
                if (after is None or uuid > after) and (until is None or uuid <= until)
            )
            covers = SnapshotRange.of(version=self.version, after=after, until=until)
            self.sent.append((page, covers))


_UUIDS = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(8)]
_PLACES = st.integers(0, len(_UUIDS) - 1)
_EVENTS = st.lists(st.one_of(_PLACES, st.tuples(_PLACES), st.tuples(_PLACES, _PLACES)), max_size=16)


def _run(api, events):
    """Let the API do things; a group that was deleted once is another one the next time."""
    uuids, ended = dict(enumerate(_UUIDS)), itertools.count(1)
    for event in events:
        if isinstance(event, tuple):
            api.look(*{uuids[place] for place in event})
            continue
        uuid = uuids[event]
        api.change(uuid)
        if uuid not in api.groups:
            uuids[event] = f"{uuid[:9]}{next(ended):04x}{uuid[13:]}"


@given(events=_EVENTS, data=st.data())
@settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_messages_lost_doubled_and_late_do_no_harm_that_a_snapshot_does_not_heal(
    database, events, data
):
    api = Api()
    _run(api, events)
    arriving = data.draw(st.lists(st.sampled_from(api.sent), max_size=24)) if api.sent else []
    api.sent.clear()
    api.look(*data.draw(st.sets(st.sampled_from(_UUIDS), max_size=3)))
    with database.begin() as session:
        session.execute(sa.delete(models.server_groups))
        for groups, snapshot in arriving + api.sent:
            server_groups.take_in(session, groups, snapshot=snapshot)
        assert alive(session) == set(api.groups)
        for groups, snapshot in arriving:
            server_groups.take_in(session, groups, snapshot=snapshot)
        assert alive(session) == set(api.groups)
