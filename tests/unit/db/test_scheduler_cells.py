"""What cells tell of their hosts, in the scheduler's database: the later look counts."""

import datetime

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roost.db.scheduler import cells, models, reports
from roost.objects import CellLiveness
from roost.objects.base import version_at
from tests.builders import CELL1, CELL2, NOW, a_report

HOSTS = ("h1", "h2", "h3")
SECOND = datetime.timedelta(seconds=1)


@pytest.fixture
def database(make_database):
    made = make_database("scheduler", models.metadata)
    with made.begin() as session:
        for host in HOSTS:
            reports.take_in(session, a_report(host), reported_at=NOW)
    return made


@pytest.fixture
def session(database):
    with database.begin() as session:
        yield session


def liveness(*up, down=(), after=1.0, whole=False, cell=CELL1):
    """What a cell-conductor saw so many seconds after the hosts had reported."""
    return CellLiveness.of(
        cell_uuid=cell,
        version=version_at(NOW + after * SECOND),
        whole=whole,
        up=list(up),
        down=list(down),
    )


def take_in(session, message, reported_at=NOW):
    return cells.take_in(session, message, reported_at=reported_at)


def down(session):
    hosts = models.hosts.c
    return set(session.scalars(sa.select(hosts.host).where(hosts.told_down)))


def row(session, host):
    table = models.hosts
    return session.execute(sa.select(table).where(table.c.host == host)).one()


def test_a_change_can_be_seen_by_those_who_remember_the_host(session):
    before = row(session, "h1")
    take_in(session, liveness("h2", down=["h1"]))
    after = row(session, "h1")
    assert (after.generation, after.described) == (before.generation + 1, before.described + 1)
    assert after.touched_at >= before.touched_at
    take_in(session, liveness("h2", down=["h1"], after=2))
    assert row(session, "h1").generation == after.generation


def test_it_is_known_when_each_cell_was_heard_of(session):
    assert cells.last_reports(session) == {}
    take_in(session, liveness("h1"))
    take_in(session, liveness(cell=CELL2, whole=True), reported_at=NOW + SECOND)
    take_in(session, liveness("h2", after=2), reported_at=NOW + 2 * SECOND)
    assert cells.last_reports(session) == {CELL1: NOW + 2 * SECOND, CELL2: NOW + SECOND}


def test_a_cell_says_nothing_of_the_hosts_of_another(session):
    reports.take_in(session, a_report("h9", cell_uuid=CELL2), reported_at=NOW)
    take_in(session, liveness(*HOSTS, down=["h9"], whole=True))
    take_in(session, liveness(cell=CELL2, down=HOSTS))
    assert down(session) == set()


def test_a_host_that_its_cell_does_not_know_any_more_is_down(session):
    take_in(session, liveness("h1", "h2", whole=True))
    assert down(session) == {"h3"}


def test_a_host_that_came_while_its_cell_was_looked_at_stays_up(session):
    take_in(session, liveness("h1", "h2", after=-1, whole=True))
    assert down(session) == set()


def test_all_nodes_of_a_host_go_down(session):
    reports.take_in(session, a_report("h1", node="second"), reported_at=NOW)
    assert len(take_in(session, liveness(down=["h1"]))) == 2


@st.composite
def histories(draw):
    """What two conductors of a cell tell while its hosts come and go, and how it arrives.

    Each look of either tells all, or what has changed since it told last. Messages are then lost,
    doubled and mixed up; one of the last moment, that has all, arrives among them.
    """
    state, told, sent = dict.fromkeys(HOSTS, True), [{}, {}], []
    for moment in range(1, draw(st.integers(1, 8)) + 1):
        host = draw(st.sampled_from(HOSTS))
        state = {**state, host: not state[host]}
        conductor, whole = draw(st.tuples(st.sampled_from([0, 1]), st.booleans()))
        changed = state if whole else dict(state.items() - told[conductor].items())
        told[conductor] = state
        sent.append(_message(changed, moment, whole=whole))
    last = _message(state, 100, whole=True)
    arriving = draw(st.lists(st.sampled_from(sent), max_size=12))
    arriving.insert(draw(st.integers(0, len(arriving))), last)
    return arriving, {host for host, is_up in state.items() if not is_up}


def _message(hosts, moment, *, whole):
    up = [host for host, is_up in hosts.items() if is_up]
    return liveness(*up, down=set(hosts) - set(up), after=moment, whole=whole)


@given(histories())
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whatever_is_lost_doubled_or_late_a_snapshot_makes_true(database, history):
    arriving, truth = history
    with database.begin() as session:
        session.execute(sa.delete(models.cells))
        session.execute(sa.update(models.hosts).values(told_down=False))
        for message in arriving:
            take_in(session, message)
        assert down(session) == truth
