"""roost-cell-conductor: the way to a cell's data for its hosts. Any number serve a cell's bus."""

from roost import concurrency

concurrency.select()

import functools

from oslo_config import cfg

from roost import migrations, networks
from roost.cmd import _checks, _options, _parts, _run
from roost.cmd._daemon import Daemon, RpcServer
from roost.cmd._periodic import Periodic
from roost.cmd._waiting import Check
from roost.conductor.cell_conductor import CellConductorManager
from roost.conductor.delete import Deletion
from roost.conductor.progress import Progress
from roost.conductor.reschedule import Rescheduling
from roost.conductor.sweeper import CellSweeper
from roost.context import admin_context
from roost.db.engine import Database
from roost.rpc.cell_conductor import CellConductor
from roost.rpc.compute import Compute
from roost.rpc.notifications import Notifier
from roost.rpc.transport import Bus
from roost.scheduler.client import SchedulerClient

NAME = "roost-cell-conductor"


def build(conf: cfg.ConfigOpts) -> Daemon:
    """Put a cell-conductor together. It serves once ``roost-manage`` has made its cell known."""
    bus = Bus(conf)
    scheduler_bus = _parts.scheduler_bus(conf, bus)
    database = _parts.database(conf, "cell_database")
    compute, scheduler = Compute(bus), SchedulerClient(scheduler_bus)
    rescheduling = Rescheduling(
        host=conf.host,
        database=database,
        scheduler=scheduler,
        compute=compute,
        notifier=Notifier(conf, f"{NAME}:{conf.host}"),
        max_attempts=conf.conductor.max_attempts,
    )
    manager = _manager(conf, database, rescheduling, Deletion(database, scheduler, compute))
    sweeper = CellSweeper(
        database, compute, rescheduling, lease_seconds=conf.conductor.lease_seconds
    )
    heartbeat = functools.partial(
        manager.report_service, admin_context(), host=conf.host, binary=NAME
    )
    return Daemon(
        NAME,
        checks=[_checks.schema(database, migrations.CELL), _checks.broker(conf, None)],
        on_start=[
            Check("its cell to be mapped", heartbeat),
            Check("the way for answers", scheduler_bus.expect_replies),
        ],
        servers=[RpcServer(bus, CellConductor, manager, name=conf.host, threads=conf.rpc_threads)],
        periodics=[
            Periodic(lambda: conf.service_report_interval, heartbeat, "heartbeat"),
            Periodic(lambda: conf.conductor.sweep_interval, sweeper.sweep, "sweeper"),
        ],
        closing=[scheduler_bus, bus, database],
    )


def _manager(
    conf: cfg.ConfigOpts, database: Database, rescheduling: Rescheduling, deletion: Deletion
) -> CellConductorManager:
    return CellConductorManager(
        database,
        progress=Progress(
            host=conf.host,
            database=database,
            networks=networks.parse(conf.network.local_networks),
        ),
        rescheduling=rescheduling,
        deletion=deletion,
    )


def main() -> None:
    _run.run(_options.load(NAME), build)
