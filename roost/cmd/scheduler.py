"""roost-scheduler: chooses hosts and stores claims. Any number serve the scheduler bus."""

from roost import concurrency

concurrency.select()

from typing import Final

from oslo_config import cfg

from roost import migrations
from roost.cmd import _checks, _database, _options, _run
from roost.cmd._daemon import Daemon, Periodic, RpcServer
from roost.db.engine import Database
from roost.rpc.notifications import Notifier
from roost.rpc.scheduler import CellScheduler, Scheduler, SchedulerFeed
from roost.rpc.transport import Bus
from roost.scheduler import plugins
from roost.scheduler.changes import GREETING_INTERVAL, ChangeQueue, HostChanges, Peers
from roost.scheduler.liveness import LivenessTimeouts
from roost.scheduler.manager import SchedulerManager
from roost.scheduler.publishing import ChangeNotifications, SchedulerFeeder
from roost.servicegroup.driver import ListeningTime

NAME = "roost-scheduler"
FORGET_INTERVAL: Final = 3600.0  # seconds between two purges of groups deleted long ago
NOTE_INTERVAL: Final = 60.0  # seconds between two notes which parts of reports this one reads
EXPIRY_INTERVAL: Final = 10.0  # seconds between two searches for unconfirmed claims
FED: Final = 15.0  # seconds without a message, its own echo included, after which it polls again
SEND_PAUSE: Final = 0.02  # seconds between two messages of changes: those of meanwhile are merged
NOTIFICATIONS_LAST: Final = 3600.0  # seconds: who reads none for longer asks for the changes
LISTEN: Final = 1.0  # seconds between two notes whether this process receives messages


def build(conf: cfg.ConfigOpts) -> Daemon:
    """Assemble a scheduler."""
    url = conf.scheduler.transport_url
    bus = Bus(conf, url)
    database = _database.configured(conf, "scheduler_database")
    silence = LivenessTimeouts.of(down_time=conf.service_down_time)
    listening = ListeningTime(gap=silence.gap)
    peers = Peers()
    feeder = SchedulerFeeder(SchedulerFeed(bus), peers)
    queues = [
        ChangeQueue(feeder.send, name="other schedulers", linger=silence.gap / 8),
        *_listeners(conf, database),
    ]

    def publish(changes: HostChanges) -> None:
        for queue in queues:
            queue.put(changes)

    manager = SchedulerManager(
        database,
        driver=plugins.load_driver(conf.scheduler),
        silence=silence,
        hearing=listening,
        publish=publish,
        peers=peers,
        is_fed=lambda: feed.consumer_state.received_within(FED),
    )
    api, cells = (
        RpcServer(bus, interface, manager, name=conf.host, threads=conf.rpc_threads)
        for interface in (Scheduler, CellScheduler)
    )
    feed = RpcServer(bus, SchedulerFeed, manager, name=conf.host, threads=1)

    def listen() -> None:
        listening.note(
            database.now().timestamp(), connected=cells.consumer_state.received_within(silence.gap)
        )

    return Daemon(
        NAME,
        checks=[_checks.schema(database, migrations.SCHEDULER), _checks.broker(conf, url)],
        servers=[feed, api, cells],
        periodics=[
            Periodic(lambda: EXPIRY_INTERVAL, manager.expire_claims, "expiry"),
            Periodic(FORGET_INTERVAL, manager.forget_deleted, "deleted groups"),
            Periodic(NOTE_INTERVAL, manager.note_read_parts, "read parts"),
            Periodic(silence.gap / 3, cells.consumer_state.call, "echo"),
            Periodic(LISTEN, listen, "listening"),
            Periodic(GREETING_INTERVAL, feeder.greet, "greeting"),
            *(
                Periodic(SEND_PAUSE, queue.send_next, f"changes to {queue.name}")
                for queue in queues
            ),
        ],
        drain=[queue.close for queue in queues],
        closing=[bus, database],
    )


def _listeners(conf: cfg.ConfigOpts, database: Database) -> list[ChangeQueue]:
    """Return the queue of what listeners outside Roost are notified of, if there are to be any."""
    topics, publisher = conf.scheduler.change_topics, f"{NAME}:{conf.host}"
    if not topics:
        return []
    notifier = Notifier(conf, publisher, topics=topics, lifetime=NOTIFICATIONS_LAST)
    if not notifier.enabled:
        return []
    return [ChangeQueue(ChangeNotifications(database, notifier).send, name="listeners")]


def main() -> None:
    _run.run(_options.load(NAME), build)
