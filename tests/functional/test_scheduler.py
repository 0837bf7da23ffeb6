"""The scheduler as others meet it: through its client, over a bus, from a database file."""

import uuid

import pytest

from roost import conf, exception
from roost.db.scheduler import models
from roost.rpc.scheduler import CellScheduler, Scheduler
from roost.rpc.transport import Bus
from roost.scheduler import client as client_module
from roost.scheduler import plugins
from roost.scheduler.client import CellSchedulerClient, Reporter, SchedulerClient
from roost.scheduler.liveness import LivenessTimeouts
from roost.scheduler.manager import SchedulerManager
from tests.builders import a_context, a_report, a_selection, a_spec, a_uuid
from tests.stories.cloud import wait_until


class Both(SchedulerClient):
    """What the API level may ask, and what cells may, for stories of both."""

    def __init__(self, bus):
        super().__init__(bus)
        cells = CellSchedulerClient(bus)
        self.update_resource_stats, self.move_claim = cells.update_resource_stats, cells.move_claim


@pytest.fixture
def client(make_database):
    """A client of two schedulers that share a database."""
    options = conf.of({})
    bus = Bus(options, f"fake://scheduler-{uuid.uuid4().hex}/")
    database = make_database("scheduler", models.metadata)
    servers = []
    for name in ("one", "two"):
        driver = plugins.load_driver(options.scheduler)
        manager = SchedulerManager(database, driver=driver, silence=LivenessTimeouts(host=10**9))
        servers.append(bus.server(Scheduler, manager, name))
        servers.append(bus.server(CellScheduler, manager, name))
    for server in servers:
        server.start()
    yield Both(bus)
    for server in servers:
        server.stop()
    for server in servers:
        server.wait()


@pytest.fixture
def hosts(client):
    """Three hosts that have reported themselves."""
    for name in ("h1", "h2", "h3"):
        client.update_resource_stats(a_context(), report=a_report(name))
    wait_until(lambda: len(client.list_hosts(a_context())) == 3, "three hosts known")


def select(client, *instances, alternates=0, **spec):
    return client.select_destinations(
        a_context(),
        request_spec=a_spec(**spec),
        instance_uuids=list(instances),
        alternates=alternates,
    )


def test_a_request_is_answered_with_selections(client, hosts):
    instances = [a_uuid(), a_uuid()]
    answer = select(client, *instances, alternates=2)
    assert [len(selections) for selections in answer] == [3, 3]
    claims = {claim["instance_uuid"]: claim["host"] for claim in client.all_claims(a_context())}
    assert claims == {
        instance: chosen.host for instance, (chosen, *_) in zip(instances, answer, strict=True)
    }


def test_a_refusal_crosses_the_bus_with_its_reasons(client, hosts):
    with pytest.raises(exception.NoValidHost) as caught:
        select(client, a_uuid(), availability_zone="mars")
    assert caught.value.message == "No valid host was found: 3 hosts: in another availability zone"
    assert caught.value.details["refusals"] == {
        "availability_zone": {"in another availability zone": 3}
    }


def test_a_claim_is_moved_and_released(client, hosts):
    instance, spec = a_uuid(), a_spec()
    select(client, instance)
    moved = client.move_claim(
        a_context(), instance_uuid=instance, request_spec=spec, to=a_selection("h3")
    )
    assert (moved.host, moved.claimed) == ("h3", True)
    client.release_claims(a_context(), instance_uuids=[instance], host="h3")
    assert list(client.all_claims(a_context())) == []


def test_a_move_without_room_says_so(client, hosts):
    with pytest.raises(exception.NoCapacity, match="h9"):
        client.move_claim(
            a_context(), instance_uuid=a_uuid(), request_spec=a_spec(), to=a_selection("h9")
        )


def test_a_closed_host_is_left_alone_by_every_scheduler(client, hosts):
    client.set_host_enabled(a_context(), host="h1", enabled=False, version=1)
    answers = [select(client, a_uuid())[0][0].host for _ in range(6)]
    assert "h1" not in answers


def test_lists_come_whole_though_they_travel_in_pages(client, hosts, monkeypatch):
    monkeypatch.setattr(client_module, "PAGE", 2)
    select(client, *(a_uuid() for _ in range(5)))
    assert [host.host for host in client.all_hosts(a_context())] == ["h1", "h2", "h3"]
    assert len(list(client.all_claims(a_context()))) == 5


def test_a_reporter_makes_its_host_known(client):
    reporter = Reporter(client, report=lambda: a_report("h7"), interval=30)
    assert reporter.tick(0)
    wait_until(lambda: [host.host for host in client.all_hosts(a_context())] == ["h7"], "h7 known")
