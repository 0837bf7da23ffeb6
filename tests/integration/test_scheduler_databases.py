"""Many schedulers on one database: none gives away what is not there, every claim is counted."""

import concurrent.futures
import contextlib
import datetime
import random

import pytest

from roost import conf, exception
from roost.db.engine import Database
from roost.db.scheduler import models
from roost.scheduler import plugins
from roost.scheduler.liveness import LivenessTimeouts
from roost.scheduler.manager import SchedulerManager
from tests import claim_consistency
from tests.builders import a_context, a_flavor, a_report, a_selection, a_spec, a_uuid

HOSTS = [f"h{number}" for number in range(6)]
BIG = {"vcpus": 3, "memory_mb": 2048, "root_gb": 10}


@pytest.fixture(params=["sqlite", "postgresql", "mariadb"])
def database(request, tmp_path):
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path}/scheduler.sqlite"
    else:
        url = request.getfixturevalue(f"{request.param}_url")
    database = Database(url, connections=16)
    models.metadata.create_all(database.engine)
    yield database
    database.close()


@pytest.fixture
def managers(database):
    """Two schedulers, as two processes would be."""
    options = conf.of({}).scheduler
    return [
        SchedulerManager(
            database, driver=plugins.load_driver(options), silence=LivenessTimeouts(host=10**9)
        )
        for _ in range(2)
    ]


@pytest.fixture
def hosts(managers):
    for name in HOSTS:
        managers[0].update_resource_stats(a_context(), report=a_report(name))


def together(step, count, threads=8):
    """Run numbered steps in several threads; return what they returned."""
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return list(pool.map(step, range(count)))


def select(manager, *instances, **spec):
    return manager.select_destinations(
        a_context(), request_spec=a_spec(**spec), instance_uuids=list(instances), alternates=1
    )


def test_counting_anew_under_load_keeps_the_books_right(database, managers, hosts):
    def step(number):
        manager = managers[number % 2]
        if number % 4 == 0:
            manager.recount(a_context(), host=random.choice(HOSTS))
        with contextlib.suppress(exception.NoValidHost):
            select(manager, a_uuid())

    together(step, 40)
    claim_consistency.assert_right(database)


def test_a_full_house_is_filled_to_the_last_place_and_no_further(database, managers, hosts):
    def boot(number):
        try:
            return select(managers[number % 2], a_uuid())
        except exception.NoValidHost as refused:
            return refused.message

    answers = together(boot, 60)  # there are 6 x 8 CPUs
    refused = [answer for answer in answers if isinstance(answer, str)]
    assert refused == ["No valid host was found. 6 hosts: not enough CPUs"] * 12
    claim_consistency.assert_right(database)


def test_requests_for_many_are_placed_whole_or_not_at_all(database, managers, hosts):
    def boot(number):
        instances = [a_uuid() for _ in range(5)]
        try:
            select(managers[number % 2], *instances, flavor=a_flavor(**BIG))
        except exception.NoValidHost:
            return []
        return instances

    placed = [uuid for instances in together(boot, 8) for uuid in instances]
    claimed = [claim["instance_uuid"] for claim in managers[0].list_claims(a_context())]
    assert len(placed) == 10  # of 12 places
    assert sorted(claimed) == sorted(placed)
    claim_consistency.assert_right(database)


def test_the_same_instance_asked_for_many_times_at_once_is_placed_once(database, managers, hosts):
    instance, spec = a_uuid(), a_spec()

    def ask(number):
        return managers[number % 2].select_destinations(
            a_context(), request_spec=spec, instance_uuids=[instance], alternates=0
        )

    answers = together(ask, 16)
    assert len({answer[0][0].host for answer in answers}) == 1
    assert len(managers[0].list_claims(a_context())) == 1
    claim_consistency.assert_right(database)


def test_an_instance_that_moves_gets_one_claim_more_however_often_it_is_asked_for(
    database, managers, hosts
):
    instance = a_uuid()
    ((source, *_),) = select(managers[0], instance)
    spec = a_spec(ignore_hosts=[source.host])

    def move(number):
        return managers[number % 2].select_destinations(
            a_context(),
            request_spec=spec,
            instance_uuids=[instance],
            alternates=0,
            beside=source.host,
        )

    answers = together(move, 16)
    (found,) = {answer[0][0].host for answer in answers}
    hosts_of = [claim["host"] for claim in managers[0].list_claims(a_context())]
    assert sorted(hosts_of) == sorted([source.host, found])
    claim_consistency.assert_right(database)


def test_hosts_that_report_for_the_first_time_at_once_are_created_once(database, managers):
    late = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)

    def report(number):
        made_at = late + datetime.timedelta(seconds=number)
        managers[number % 2].update_resource_stats(
            a_context(), report=a_report(HOSTS[number % 2], reported_at=made_at, vcpus=number)
        )

    together(report, 24)
    found = {host.host: host.amount("VCPU") for host in managers[0].list_hosts(a_context())}
    assert found == {"h0": 22, "h1": 23}


def test_claims_moved_and_released_crosswise_leave_the_books_right(database, managers, hosts):
    spec = a_spec()
    instances = [a_uuid() for _ in range(24)]
    select(managers[0], *instances)

    def stir(number):
        dice, manager = random.Random(number), managers[number % 2]
        instance, host = dice.choice(instances), dice.choice(HOSTS)
        if number % 5 == 0:
            manager.release_claims(a_context(), instance_uuids=dice.sample(instances, 4))
        elif number % 5 == 1:
            manager.update_resource_stats(
                a_context(), report=a_report(host, instances=instances, reported_at=now(number))
            )
        elif number % 5 == 2:
            select(manager, *dice.sample(instances, 3))
        elif number % 5 == 3:
            with contextlib.suppress(exception.Conflict, exception.NoValidHost):
                manager.select_destinations(
                    a_context(),
                    request_spec=spec,
                    instance_uuids=[instance],
                    alternates=0,
                    beside=host,
                )
        else:
            with contextlib.suppress(exception.Conflict, exception.NoCapacity):
                manager.move_claim(
                    a_context(), instance_uuid=instance, request_spec=spec, to=a_selection(host)
                )

    together(stir, 100)
    claim_consistency.assert_right(database)
    managers[0].release_claims(a_context(), instance_uuids=instances)
    assert managers[0].list_claims(a_context()) == []
    claim_consistency.assert_right(database)


def now(number):
    return datetime.datetime.now(datetime.UTC) + datetime.timedelta(microseconds=number)
