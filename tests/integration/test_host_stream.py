"""Changes of hosts: schedulers feed each other, others listen over RabbitMQ or Kafka."""

import contextlib
import threading
import time

import amqp
import confluent_kafka
import kombu
import oslo_messaging as messaging
import pytest

from roost import conf, migrations
from roost.cmd import scheduler as daemon
from roost.db.engine import Database
from roost.rpc import oslo_driver
from roost.rpc.scheduler import Scheduler
from roost.rpc.transport import Bus
from roost.scheduler.client import ChangeListener
from tests import claim_consistency
from tests.builders import a_context, a_report, a_spec, a_uuid
from tests.stories.cloud import wait_until

TOPIC, READY = "hosts", "ready"
ROOMY = {"vcpus": 2**20, "memory_mb": 2**30, "disk_gb": 2**20}


@pytest.fixture
def database(postgresql_url):
    made = Database(postgresql_url)
    migrations.sync(made, migrations.SCHEDULER)
    yield made
    made.close()


@pytest.fixture
def options(postgresql_url, rabbitmq_url, tmp_path):
    return (
        f"state_path = {tmp_path}\n"
        f"transport_url = {rabbitmq_url}\n"
        f"[scheduler_database]\nconnection = {postgresql_url}\n"
    )


@pytest.fixture
def start(database, options, tmp_path, monkeypatch):
    """Start a scheduler as its daemon is built; return its manager."""
    managers, daemons = [], []

    class Kept(daemon.SchedulerManager):
        def __init__(self, *parts, **more):
            super().__init__(*parts, **more)
            managers.append(self)

    monkeypatch.setattr(daemon, "SchedulerManager", Kept)

    def start(more=""):
        file = tmp_path / "roost.conf"
        file.write_text(f"[DEFAULT]\nhost = s{len(managers)}\n{options}{more}")
        made = daemon.build(conf.load([], files=[str(file)]))
        daemons.append(made)
        assert made.start()
        return managers[-1]

    yield start
    stops = [threading.Thread(target=made.stop) for made in daemons]
    for stop in stops:
        stop.start()
    for stop in stops:
        stop.join()


@pytest.fixture
def pair(start):
    """Two schedulers that know the hosts h1 and h2."""
    pair = [start(), start()]
    for manager in pair:
        wait_until(lambda one=manager: one._peers.are_there, "it has heard of the other one")
    for host in ("h1", "h2"):
        pair[0].update_resource_stats(a_context(), report=a_report(host, **ROOMY))
    for manager in pair:
        claim(manager, "h1")
        assert manager._table._is_fed()
    wait_until(lambda: used(pair[0]) == used(pair[1]) == {"h1": 2, "h2": 0}, "both know both")
    return pair


def claim(manager, host):
    manager.select_destinations(
        a_context(),
        request_spec=a_spec(requested_host=host),
        instance_uuids=[a_uuid()],
        alternates=0,
    )


def used(manager):
    """Return the instances on each host, by its memory."""
    hosts = manager._table.hosts
    return {hosts.name("host", row): int(hosts.instances[row]) for row in range(len(hosts))}


def test_schedulers_that_feed_each_other_choose_by_what_all_have_committed(pair, database):
    """No claim finds its host different at its commit, once the messages are there."""
    for number in range(20):
        own, other = pair[number % 2], pair[(number + 1) % 2]
        claim(own, f"h{1 + number % 3 % 2}")
        wait_until(lambda own=own, other=other: used(own) == used(other), "the other knows")
    assert [manager.batches.counts["rechecked"] for manager in pair] == [0, 0]
    claim_consistency.assert_right(database)


def test_a_scheduler_whose_messages_do_not_arrive_is_not_fed_and_polls(start, monkeypatch):
    monkeypatch.setattr(daemon, "FED", 0.5)
    alone = start()
    wait_until(alone._table._is_fed, "it hears its own echo")
    wait_until(lambda: not alone._table._is_fed(), "its last echo is half a second old")


@pytest.fixture
def soon_expired(monkeypatch):
    monkeypatch.setattr(oslo_driver, "FANOUT_SECONDS", 1.0)


@pytest.fixture
def unread(rabbitmq_url, soon_expired, pair):
    """The queue of a scheduler that never reads."""
    url = rabbitmq_url.replace("rabbit://", "amqp://")
    with kombu.Connection(url) as connection:
        name = f"{rabbitmq_url.rpartition('/')[2]}.scheduler-feed_fanout"
        exchange = kombu.Exchange(name, type="fanout", passive=True)
        queue = kombu.Queue("never-read", exchange, channel=connection.channel(), durable=False)
        queue.declare()
        yield lambda: queue.queue_declare(passive=True).message_count


def test_a_scheduler_that_never_reads_hurts_nobody(soon_expired, pair, unread):
    until = time.monotonic() + 2
    most = 0
    while time.monotonic() < until:
        claim(pair[0], "h1")
        most = max(most, unread())
    wait_until(lambda: used(pair[1]) == used(pair[0]), "the other knows")
    assert most > 0
    wait_until(lambda: unread() == 0, "the broker has dropped what nobody reads")


class Listener:
    def __init__(self):
        self.heard = []
        self.ready = False

    def info(self, context, publisher, event, payload, metadata):
        if event == READY:
            self.ready = True
            return
        assert (event, payload["roost_object.name"]) == (
            "scheduler.hosts.changed",
            "HostChangesPayload",
        )
        self.heard.append((publisher, payload["roost_object.data"]))

    def changes(self):
        return [
            change["roost_object.data"] for _from, data in self.heard for change in data["changes"]
        ]


@contextlib.contextmanager
def listening(url, **more):
    made = Listener()
    transport = messaging.get_notification_transport(conf.of({}), url=url)
    server = messaging.get_notification_listener(
        transport, [messaging.Target(topic=TOPIC)], [made], executor="threading", **more
    )
    server.start()
    notifier = messaging.Notifier(
        transport, publisher_id="test", driver="messagingv2", topics=[TOPIC]
    )

    def is_ready():
        """Kafka gives a listener what is sent after it was assigned its part of the topic."""
        notifier.info({}, READY, {})
        return made.ready

    wait_until(is_ready, "the listener hears")
    yield made
    server.stop()
    server.wait()
    transport.cleanup()


def notified(url):
    """Return the options of a scheduler that notifies."""
    return (
        f"[scheduler]\nchange_topics = {TOPIC}\n"
        f"[oslo_messaging_notifications]\ndriver = messagingv2\ntransport_url = {url}\n"
    )


def follow(manager, listener):
    """Have hosts change, and see that a listener can follow."""
    manager.update_resource_stats(a_context(), report=a_report("h1", **ROOMY))
    manager.update_resource_stats(a_context(), report=a_report("h2", **ROOMY))
    wait_until(
        lambda: {"h1", "h2"} == {one["host"] for one in listener.changes()}, "both are heard"
    )
    for _ in range(3):
        claim(manager, "h1")
    manager.remove_host(a_context(), host="h2")

    def known():
        """Return the generations and kinds that somebody has heard of, by host."""
        found = {}
        for change in listener.changes():
            generation, kinds = found.get(change["host"], (0, set()))
            kinds = kinds.union(change["changed"])
            found[change["host"]] = (max(generation, change["generation"]), kinds)
        return found

    wait_until(
        lambda: (
            known() == {"h1": (4, {"claims", "description"}), "h2": (2, {"description", "removed"})}
        ),
        "all changes are heard",
    )
    last = max(listener.changes(), key=lambda each: (each["host"] == "h1", each["generation"]))
    assert last["instances"] == 3

    def is_whole():
        """Kafka may bring what two connections of one publisher sent in another order."""
        numbers = sorted(data["number"] for _from, data in listener.heard)
        return numbers == list(range(1, len(numbers) + 1))

    wait_until(is_whole, "no number is missing")
    assert {publisher for publisher, _data in listener.heard} == {"roost-scheduler:s0"}


def test_a_listener_follows_over_rabbitmq(start, rabbitmq_url):
    with listening(rabbitmq_url) as listener:
        follow(start(notified(rabbitmq_url)), listener)


def test_listeners_with_a_pool_of_their_own_receive_all_changes_each(start, rabbitmq_url):
    received = {"first": [], "second": []}
    listeners = [
        ChangeListener(conf.of({}), rabbitmq_url, topic=TOPIC, pool=pool, receive=heard.append)
        for pool, heard in received.items()
    ]
    for listener in listeners:
        listener.start()
    manager = start(notified(rabbitmq_url))
    for host in ("h1", "h2", "h3", "h4"):
        manager.update_resource_stats(a_context(), report=a_report(host, **ROOMY))

    def hosts(pool):
        return {change.host for payload in received[pool] for change in payload.changes}

    wait_until(lambda: {"h1", "h2", "h3", "h4"} == hosts("first") == hosts("second"), "all hear")
    numbers = [sorted(payload.number for payload in heard) for heard in received.values()]
    assert numbers[0] == numbers[1]
    for listener in listeners:
        listener.stop()


@pytest.fixture
def kafka_url():
    """A mock cluster of librdkafka, which lives as long as the client that has it."""
    cluster = confluent_kafka.Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "none"})
    cluster.list_topics(f"{TOPIC}.info", timeout=30)  # which makes it
    (broker,) = cluster.list_topics(timeout=30).brokers.values()
    yield f"kafka://{broker.host}:{broker.port}/"
    cluster.flush(10)


def test_a_listener_follows_over_kafka(start, kafka_url):
    prompt = f"{kafka_url}?kafka_consumer_timeout=0.1"
    with listening(prompt, pool="followers") as listener:
        follow(start(notified(kafka_url)), listener)


def test_a_listener_that_missed_some_asks_for_the_rest(start, rabbitmq_url):
    manager = start()
    manager.update_resource_stats(a_context(), report=a_report("h1", **ROOMY))
    manager.update_resource_stats(a_context(), report=a_report("h2", **ROOMY))
    bus = Bus(conf.of({}), rabbitmq_url)
    scheduler = Scheduler(bus)
    page = scheduler.changes_since(a_context(), limit=1)
    first, marker = page.changes, page.marker
    page = scheduler.changes_since(a_context(), marker=marker)
    assert [change.host for change in (*first, *page.changes)] == ["h1", "h2"]
    claim(manager, "h2")
    manager.remove_host(a_context(), host="h1")
    page = scheduler.changes_since(a_context(), marker=page.marker)
    newest = {change.host: change for change in page.changes}
    assert newest["h2"].instances == 1
    assert newest["h1"].changed == ["removed"]
    bus.close()


def test_notifications_that_nobody_reads_are_dropped_by_the_broker(
    start, rabbitmq_url, monkeypatch
):
    monkeypatch.setattr(daemon, "NOTIFICATIONS_LAST", 2.0)
    manager = start(notified(rabbitmq_url))
    manager.update_resource_stats(a_context(), report=a_report("h1", **ROOMY))
    for _ in range(5):
        claim(manager, "h1")
    with kombu.Connection(rabbitmq_url.replace("rabbit://", "amqp://")) as connection:

        def waiting():
            with connection.channel() as channel:  # the broker closes it where no queue is yet
                queue = kombu.Queue(f"{TOPIC}.info", channel=channel)
                with contextlib.suppress(amqp.NotFound):
                    return queue.queue_declare(passive=True).message_count
            return 0

        wait_until(waiting, "notifications wait")
        wait_until(lambda: waiting() == 0, "the broker has dropped them")


def test_a_broker_of_listeners_that_is_away_hurts_nobody(start):
    manager = start(notified("rabbit://127.0.0.1:1/"))
    manager.update_resource_stats(a_context(), report=a_report("h1", **ROOMY))
    began = time.monotonic()
    for _ in range(5):
        claim(manager, "h1")
    assert time.monotonic() - began < 5
