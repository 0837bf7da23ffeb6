"""Schedulers that are killed at any moment leave books that are right."""

import contextlib
import random
import subprocess
import sys
import time

import pytest

from roost.db.engine import Database
from roost.db.scheduler import models
from roost.db.types import utcnow
from tests import claim_consistency
from tests.builders import a_context, a_report, a_spec, a_uuid
from tests.integration.churning_scheduler import HOSTS
from tests.integration.group_race_scheduler import scheduler

KILLS = 6
SCHEDULERS = 3


@pytest.fixture
def database(database_url):
    """An empty scheduler's database, of each kind in turn, with a few hosts."""
    database = Database(database_url)
    models.metadata.create_all(database.engine)
    with scheduler(database_url) as manager:
        for host in HOSTS:
            manager.update_resource_stats(a_context(), report=a_report(host, reported_at=utcnow()))
    yield database
    database.close()


def start(url, seed):
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.integration.churning_scheduler", url, str(seed)],
        stdout=subprocess.PIPE,
    )
    assert process.stdout.readline() == b"ready\n"
    return process


@contextlib.contextmanager
def stirring(url):
    """Schedulers at work; yields them in a list, to be killed and replaced."""
    running = [start(url, number) for number in range(SCHEDULERS)]
    try:
        yield running
    finally:
        for process in running:
            end(process)


def end(process):
    process.kill()
    process.wait()
    process.stdout.close()


@pytest.mark.timeout(180)
def test_schedulers_killed_at_random_moments_leave_the_books_right(database):
    dice = random.Random(7)
    with stirring(database.url) as running:
        for kill in range(KILLS):
            time.sleep(dice.uniform(0.1, 0.8))
            at = kill % SCHEDULERS
            assert running[at].poll() is None, "it ended by itself"
            end(running[at])
            claim_consistency.assert_right(database)
            assert claim_consistency.most_of_a_group_on_a_host(database) <= 1
            running[at] = start(database.url, kill)
    claim_consistency.assert_right(database)
    answers_still(database)


def answers_still(database):
    """A scheduler that starts now finds room for one more, and for no two of the group together."""
    with scheduler(database.url) as manager:
        claims = manager.list_claims(a_context())
        manager.release_claims(
            a_context(), instance_uuids=[claim["instance_uuid"] for claim in claims[:5]]
        )
        assert manager.select_destinations(
            a_context(), request_spec=a_spec(), instance_uuids=[a_uuid()], alternates=0
        )
    claim_consistency.assert_right(database)
