"""Conductors and schedulers on real databases: what cells tell arrives whole, beside claims."""

import concurrent.futures
import datetime
import itertools
import random

import pytest
import sqlalchemy as sa

from roost.db.cell import models as cell_models
from roost.db.cell import operations
from roost.db.engine import retried
from roost.db.scheduler import cells, hosts, reports
from roost.db.scheduler import models as scheduler_models
from roost.db.types import database_now
from roost.objects import CellLiveness
from roost.objects.base import version_at
from tests.builders import CELL1, NOW, a_report
from tests.fakes.service_groups import DatabaseWorld
from tests.integration.real_databases import make_database
from tests.stories.service_groups import *  # noqa: F403
from tests.stories.task_leases import *  # noqa: F403
from tests.stories.task_leases import LONG, operation, renew, take

__all__ = ["make_database"]
NAMES = [f"h{number}" for number in range(40)]


@pytest.fixture
def fresh(make_database):
    """Make databases with the tables of a schema on the server of this test."""
    number = itertools.count()
    return lambda metadata: make_database(f"liveness{next(number)}", metadata)


@pytest.fixture
def world(fresh):
    return DatabaseWorld(fresh(cell_models.metadata), fresh(cell_models.metadata))


@pytest.fixture
def cell_db(fresh):
    return fresh(cell_models.metadata)


@pytest.fixture
def scheduler_db(fresh):
    database = fresh(scheduler_models.metadata)
    with database.begin() as session:
        for name in NAMES:
            reports.take_in(session, a_report(name), reported_at=NOW)
    return database


def told(version, down):
    return CellLiveness.of(
        cell_uuid=CELL1,
        version=version_at(NOW) + version,
        whole=True,
        up=[name for name in NAMES if name not in down],
        down=sorted(down),
    )


def down(database):
    table = scheduler_models.hosts.c
    with database.read() as session:
        return set(session.scalars(sa.select(table.host).where(table.told_down)))


def test_messages_that_schedulers_take_in_at_once_beside_claims_end_in_the_latest(scheduler_db):
    """Claims lock hosts in order; so must this, or databases would undo the one or the other."""
    chance = random.Random(5)
    messages = [told(version, set(chance.sample(NAMES, 10))) for version in range(1, 41)]
    chance.shuffle(messages)

    def take_in(message):
        with scheduler_db.begin() as session:
            cells.take_in(session, message, reported_at=NOW)

    def claim(seed):
        chosen = random.Random(seed).sample(range(1, len(NAMES) + 1), 12)
        with scheduler_db.begin() as session:
            for usage in hosts.usages(session, chosen, lock=True):
                values = {"instances_used": scheduler_models.hosts.c.instances_used + 1}
                session.execute(
                    sa.update(scheduler_models.hosts)
                    .where(scheduler_models.hosts.c.id == usage.id)
                    .values(values)
                )

    take_in(told(0, set()))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        done = [pool.submit(claim, seed) for seed in range(40)]
        done += [pool.submit(take_in, message) for message in messages]
        for one in done:
            one.result()  # no deadlock, and so no retries

    latest = max(messages, key=lambda message: message.version)
    assert down(scheduler_db) == set(latest.down)


def test_conductors_that_sweep_at_once_take_each_operation_once(cell_db):
    made = {operation(cell_db).uuid for _ in range(60)}
    sweep = retried(lambda _: take(cell_db, LONG))
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        taken = [each.uuid for some in pool.map(sweep, range(16)) for each in some]
    assert sorted(taken) == sorted(made)


def test_hosts_that_renew_beside_sweeps_keep_their_work_or_are_told(cell_db):
    made = [operation(cell_db).uuid for _ in range(40)]
    chance = random.Random(3)
    orders = [chance.sample(made, len(made)) for _ in range(12)]

    @retried
    def keep(order):
        return renew(cell_db, *order)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        sweeps = [pool.submit(retried(take), cell_db, LONG) for _ in range(12)]
        renewals = [pool.submit(keep, order) for order in orders]
        taken = [each.uuid for one in sweeps for each in one.result()]
        assert [one.result() for one in renewals] == [set()] * len(orders)
    assert len(taken) == len(set(taken))
    assert take(cell_db, LONG) == []


def test_conductors_that_sweep_in_the_same_microsecond_take_each_operation_once(
    cell_db, monkeypatch
):
    made = operation(cell_db)
    with cell_db.read() as session:
        now = session.execute(sa.select(database_now())).scalar_one()
    monkeypatch.setattr("roost.db.clock.now", lambda session: now + datetime.timedelta(hours=1))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        with cell_db.begin() as session:
            (mine,) = operations.take_overdue(session, seconds=LONG)
            other = pool.submit(take, cell_db, seconds=LONG)
            concurrent.futures.wait([other], timeout=1)  # it waits for this transaction
        assert other.result() == []
    assert mine.uuid == made.uuid
