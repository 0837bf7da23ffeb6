"""Why there is no host, over RabbitMQ: all that the scheduler said arrives."""

import time

import pytest

from roost import conf, exception
from roost.db.scheduler import models
from roost.objects.explanation import verdicts_of
from roost.rpc.scheduler import Scheduler
from roost.rpc.transport import Bus
from roost.scheduler import plugins
from roost.scheduler.client import SchedulerClient
from roost.scheduler.manager import SchedulerManager
from tests.builders import NOW, a_context, a_flavor, a_report, a_spec, a_uuid

GIANT = {"flavor": a_flavor(vcpus=1000, memory_mb=12000)}


@pytest.fixture
def client(rabbitmq_url):
    bus = Bus(conf.of({}), rabbitmq_url)
    yield SchedulerClient(bus)
    bus.close()


@pytest.fixture
def scheduler(rabbitmq_url, make_database):
    """A scheduler that knows three hosts, of which one is closed and one small."""
    options = conf.of({})
    bus = Bus(options, rabbitmq_url)
    database = make_database("scheduler", models.metadata)
    driver = plugins.load_driver(options.scheduler)
    manager = SchedulerManager(database, driver=driver, clock=lambda: NOW)
    for host, values in (("h1", {"enabled": False}), ("h2", {"memory_mb": 4096}), ("h3", {})):
        manager.update_resource_stats(a_context(), report=a_report(host, **values))
    server = bus.server(Scheduler, manager, "one")
    server.start(2)
    yield manager
    server.stop()
    server.wait()
    bus.close()


def test_a_refusal_and_an_explanation_say_the_same_across_the_bus(client, scheduler):
    with pytest.raises(exception.NoValidHost) as refused:
        client.select_destinations(
            a_context(), request_spec=a_spec(**GIANT), instance_uuids=[a_uuid()], alternates=0
        )
    explained = client.explain(a_context(), request_spec=a_spec(**GIANT))
    assert refused.value.uncounted == (
        "No valid host was found: disabled; not enough memory; not enough CPUs"
    )
    assert refused.value.message == explained.sentence
    assert verdicts_of(refused.value.details) == explained.verdicts
    refusing = [verdict for verdict in explained.verdicts if verdict.reasons]
    assert [verdict.filter for verdict in refusing] == ["enabled", "ram", "cpu"]
    assert refusing[1].nearest.lacks == "4096 MiB free of the 12000 asked"


def test_an_explanation_of_what_fits_has_hosts_and_weights(client, scheduler):
    explained = client.explain(a_context(), request_spec=a_spec(), instances=3)
    assert [place.host for place in explained.chosen].count("h3") >= 2
    best, *_others = explained.ranked
    assert best.host == "h3"
    assert sum(best.weights.values()) == pytest.approx(best.score)
    assert list(client.all_claims(a_context())) == []


def test_where_no_scheduler_listens_one_hears_so_at_once(client):
    began = time.monotonic()
    with pytest.raises(exception.Unavailable, match="start roost-scheduler"):
        client.check(a_context())
    assert time.monotonic() - began < 5
