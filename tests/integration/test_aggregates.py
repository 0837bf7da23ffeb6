"""Changes, messages and snapshots of aggregates all at once, on PostgreSQL and MariaDB."""

import concurrent.futures
import contextlib
import random

import pytest

from roost import exception
from roost.conductor.super.scheduler_sync import Snapshots
from roost.db.api import aggregates
from roost.db.api import models as api_models
from roost.db.engine import retried
from roost.db.scheduler import aggregates as known
from roost.db.scheduler import models as scheduler_models
from tests.integration.real_databases import make_database
from tests.unit.conductor.test_scheduler_snapshots import Listener
from tests.unit.db.test_scheduler_aggregates import (
    test_what_a_restored_database_says_counts_though_it_knows_less,
)

__all__ = [
    "make_database",
    "test_what_a_restored_database_says_counts_though_it_knows_less",
]
ZONES = (None, "east", "west")


@pytest.fixture
def api_db(make_database):
    return make_database("api", api_models.metadata)


@pytest.fixture
def database(make_database):
    return make_database("scheduler", scheduler_models.metadata)


@pytest.fixture
def session(database):
    with database.begin() as session:
        yield session


class Bus(Listener):
    """Takes in what it is told, of several at once; loses a third of what is no snapshot."""

    def update_aggregates(self, context, *, aggregates, snapshot=None):
        if snapshot is None and random.random() < 0.3:
            return
        for _ in range(random.choice((1, 1, 2))):
            self._take_in(aggregates, snapshot)

    @retried
    def _take_in(self, told, snapshot):
        with self.database.begin() as session:
            known.take_in(session, told, snapshot=snapshot)


def test_whatever_happens_at_once_one_snapshot_later_the_truth_is_known(api_db, database):
    bus = Bus(database)

    @retried
    def change(dice):
        with api_db.begin() as session:
            some = [one.id for one in aggregates.list_all(session)]
            what = dice.random()
            if what < 0.2 or not some:
                return aggregates.create(session, str(dice.random()), metadata={})
            if what < 0.4:
                return aggregates.delete(session, dice.choice(some))
            if what < 0.8:
                host = f"h{dice.randrange(5)}"
                return aggregates.add_host(session, dice.choice(some), host).aggregate
            zone = {"availability_zone": dice.choice(ZONES)}
            return aggregates.update(session, dice.choice(some), metadata=zone).aggregate

    def live(number):
        dice = random.Random(number)
        if number % 5 == 0:
            Snapshots(api_db, bus, page=2).send()
            return
        with contextlib.suppress(exception.Conflict, exception.NotFound):
            bus.update_aggregates(None, aggregates=[change(dice)])

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(live, range(200)))
    Snapshots(api_db, bus, page=2).send()
    with api_db.read() as session:
        truth = aggregates.list_page(session, after=None, limit=1000)
        zones = aggregates.zones(session)
    assert truth
    assert bus.knows() == truth
    for aggregate in truth:
        zone = aggregate.metadata.get("availability_zone")
        assert {zones[host] for host in aggregate.hosts if zone} <= {zone}
