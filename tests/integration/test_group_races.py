"""Many schedulers place servers into the same groups at once: no rule is broken, no claim lost."""

import collections
import concurrent.futures
import json
import random
import subprocess
import sys

import pytest

from roost.db.engine import Database
from roost.db.scheduler import models
from roost.db.types import utcnow
from tests.builders import a_context, a_report, a_uuid
from tests.integration.group_race_scheduler import place, scheduler

HOSTS = [f"h{number}" for number in range(40)]
GROUPS = 25
TOO_MANY = 10  # boots for which no host is left


@pytest.fixture
def url(database_url):
    """An empty scheduler's database, of each kind in turn, with hosts that have plenty of room."""
    database = Database(database_url)
    models.metadata.create_all(database.engine)
    database.close()
    with scheduler(database_url) as manager:
        for host in HOSTS:
            report = a_report(host, vcpus=1000, reported_at=utcnow())
            manager.update_resource_stats(a_context(), report=report)
    return database_url


def place_in_another_process(url, boots):
    done = subprocess.run(
        [sys.executable, "-m", "tests.integration.group_race_scheduler"],
        input=json.dumps({"url": url, "boots": boots}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def race(url, boots):
    """Let four schedulers, two of them in processes of their own, place a quarter each."""
    runners = (place, place, place_in_another_process, place_in_another_process)
    with concurrent.futures.ThreadPoolExecutor(len(runners)) as pool:
        shares = [
            pool.submit(run, url, boots[number :: len(runners)])
            for number, run in enumerate(runners)
        ]
        return {uuid: told for share in shares for uuid, told in share.result().items()}


def claims_of(url):
    """Return (group, host) of each instance that holds a claim."""
    with scheduler(url) as manager:
        found = manager.list_claims(a_context(), limit=10**6)
    return {claim["instance_uuid"]: (claim["group_uuid"], claim["host"]) for claim in found}


def usage_of(url):
    with scheduler(url) as manager:
        return {host.host: host.amount("VCPU", "used") for host in manager.list_hosts(a_context())}


def boots_of(groups, count):
    """Return so many boots of each group, in any order."""
    boots = [(a_uuid(), group) for group in groups for _ in range(count)]
    random.Random(1).shuffle(boots)
    return boots


@pytest.mark.timeout(300)
def test_a_thousand_boots_at_once_break_no_anti_affinity(url):
    groups = [{"uuid": a_uuid(), "policy": "anti-affinity"} for _ in range(GROUPS)]
    boots = boots_of(groups, len(HOSTS))
    surplus = [(a_uuid(), group) for group in groups[:TOO_MANY]]

    told = race(url, boots + surplus)

    claims = claims_of(url)
    placed = {uuid: host for uuid, host in told.items() if host in HOSTS}
    assert {uuid: host for uuid, (_, host) in claims.items()} == placed
    assert len(placed) == len(boots)
    assert max(collections.Counter(claims.values()).values()) == 1
    assert collections.Counter(host for _, host in claims.values()) == usage_of(url)
    refusals = [told[uuid] for uuid in told.keys() - placed.keys()]
    assert len(refusals) == TOO_MANY
    assert all("No valid host" in refusal for refusal in refusals)
