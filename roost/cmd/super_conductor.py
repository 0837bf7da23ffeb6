"""roost-super-conductor: builds accepted requests in cells. Any number serve the API bus."""

from roost import concurrency

concurrency.select()

import datetime
import pathlib
from typing import Final

from oslo_config import cfg

from roost import migrations, security_groups
from roost.cells import Cells
from roost.cells.security_groups import GroupCopies
from roost.cmd import _checks, _database, _options, _parts, _run
from roost.cmd._daemon import Daemon, Periodic, RpcServer
from roost.cmd._waiting import StartupCheck
from roost.conductor.super.boot_queue import BootQueue
from roost.conductor.super.boot_service import BootService
from roost.conductor.super.manager import SuperConductorManager
from roost.conductor.super.purge import Archive, Purge
from roost.conductor.super.resizes import Resizes
from roost.conductor.super.scheduler_sync import Snapshots
from roost.conductor.super.soft_delete import SoftDeletes
from roost.conductor.super.sweeper import SuperSweeper
from roost.db.engine import Database
from roost.rpc.notifications import Notifier
from roost.rpc.super_conductor import SuperConductor
from roost.rpc.transport import Bus
from roost.scheduler.client import SchedulerClient

NAME = "roost-super-conductor"
PURGE: Final = 60.0  # seconds between two purges of servers deleted long ago
COMPARE: Final = 60.0  # seconds between two checks that cells have the current security groups


def build(conf: cfg.ConfigOpts) -> Daemon:
    """Assemble a super-conductor."""
    bus = Bus(conf)
    scheduler_bus = _parts.scheduler_bus(conf, bus)
    database = _database.configured(conf, "api_database")
    cells = _parts.cells(conf, database)
    scheduler = SchedulerClient(scheduler_bus)
    groups = (
        GroupCopies(database, cells) if conf.network.driver in security_groups.DRIVERS else None
    )
    boots = _boots(conf, database, cells, scheduler, groups=groups)
    manager = SuperConductorManager(BootQueue(boots.build), groups)
    snapshots = Snapshots(database, scheduler)
    sweeper = SuperSweeper(
        database=database,
        cells=cells,
        boots=boots,
        patience=conf.conductor.sweep_interval,
        soft_deletes=SoftDeletes(database, cells, conf.conductor.reclaim_instance_interval),
        resizes=Resizes(database, cells),
    )
    return Daemon(
        NAME,
        checks=[_checks.schema(database, migrations.API), _checks.broker(conf, None)],
        on_start=[
            StartupCheck("the reply queue of the scheduler bus", scheduler_bus.expect_replies),
        ],
        servers=[RpcServer(bus, SuperConductor, manager, name=conf.host, threads=conf.rpc_threads)],
        periodics=[
            _parts.watch(cells),
            Periodic(lambda: conf.conductor.sweep_interval, sweeper.sweep, "sweeper"),
            Periodic(snapshots.pause, snapshots.send, "snapshots"),
            *purge(conf, database, cells),
            *([] if groups is None else [Periodic(COMPARE, groups.compare, "security groups")]),
        ],
        closing=[cells, scheduler_bus, bus, database],
    )


def purge(conf: cfg.ConfigOpts, database: Database, cells: Cells) -> list[Periodic]:
    """Purge servers deleted long ago, if the options say so."""
    if not conf.conductor.purge_after:
        return []
    folder = conf.conductor.purge_archive
    archive = Archive(pathlib.Path(folder)) if folder else None
    age = datetime.timedelta(seconds=conf.conductor.purge_after)
    return [Periodic(PURGE, Purge(database, cells, age, archive).run_all, "purge")]


def _boots(
    conf: cfg.ConfigOpts,
    database: Database,
    cells: Cells,
    scheduler: SchedulerClient,
    *,
    groups: GroupCopies | None,
) -> BootService:
    return BootService(
        host=conf.host,
        database=database,
        cells=cells,
        scheduler=scheduler,
        notifier=Notifier(conf, f"{NAME}:{conf.host}"),
        alternates=conf.conductor.max_attempts - 1,
        lease_seconds=conf.conductor.task_lease_seconds,
        groups=groups,
    )


def main() -> None:
    _run.run(_options.load(NAME), build)
