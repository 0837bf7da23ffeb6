"""roost-scheduler: chooses hosts and keeps their claims. Any number serve the scheduler bus."""

from roost import concurrency

concurrency.select()

from oslo_config import cfg

from roost import migrations
from roost.cmd import _checks, _options, _parts, _run
from roost.cmd._daemon import Daemon, RpcServer
from roost.rpc.scheduler import Scheduler
from roost.rpc.transport import Bus
from roost.scheduler import plugins
from roost.scheduler.manager import SchedulerManager

NAME = "roost-scheduler"


def build(conf: cfg.ConfigOpts) -> Daemon:
    """Put a scheduler together."""
    url = conf.scheduler.transport_url
    bus = Bus(conf, url)
    database = _parts.database(conf, "scheduler_database")
    manager = SchedulerManager(
        database,
        driver=plugins.load_driver(conf.scheduler),
        host_silence=conf.scheduler.host_silence,
    )
    return Daemon(
        NAME,
        checks=[_checks.schema(database, migrations.SCHEDULER), _checks.broker(conf, url)],
        servers=[RpcServer(bus, Scheduler, manager, name=conf.host, threads=conf.rpc_threads)],
        closing=[bus, database],
    )


def main() -> None:
    _run.run(_options.load(NAME), build)
