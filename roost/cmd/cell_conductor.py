"""roost-cell-conductor: gives hosts access to their cell's data. Any number serve a cell's bus."""

from roost import concurrency

concurrency.select()

import functools
from typing import Final

from oslo_config import cfg

from roost import migrations, networks, security_groups
from roost.cmd import _checks, _database, _options, _parts, _run
from roost.cmd._daemon import Daemon, Periodic, RpcServer
from roost.cmd._waiting import StartupCheck
from roost.conductor.cell.guest_reports import GuestReports
from roost.conductor.cell.interfaces import Interfaces
from roost.conductor.cell.liveness import HostTimeouts, LivenessReporter
from roost.conductor.cell.manager import CellConductorManager
from roost.conductor.cell.operations.builds import Builds
from roost.conductor.cell.operations.claims import MoveClaims
from roost.conductor.cell.operations.confirmations import Confirmations
from roost.conductor.cell.operations.delete import NONE, Deletion, ExternalPorts
from roost.conductor.cell.operations.moves import ServerMoves
from roost.conductor.cell.operations.offloads import Offloads
from roost.conductor.cell.operations.outcomes import OperationOutcomes
from roost.conductor.cell.report_parts import ReportParts
from roost.conductor.cell.security_groups import HostSecurityGroups
from roost.conductor.cell.sweeper import CellSweeper
from roost.conductor.notifications import ServerNotifications
from roost.context import admin_context
from roost.db.engine import Database
from roost.external.neutron import DRIVER, Neutron
from roost.external.neutron_ports import NeutronPorts
from roost.rpc.cell_conductor import CellConductor
from roost.rpc.compute import Compute
from roost.rpc.notifications import Notifier
from roost.rpc.transport import Bus
from roost.scheduler.client import CellSchedulerClient
from roost.servicegroup.driver import load_group

NAME = "roost-cell-conductor"
LOOK: Final = 1.0  # seconds between two checks which hosts are up


def build(conf: cfg.ConfigOpts) -> Daemon:
    """Assemble a cell-conductor. It serves once ``roost-manage`` has mapped its cell."""
    bus = Bus(conf)
    scheduler_bus = _parts.scheduler_bus(conf, bus)
    database = _database.configured(conf, "cell_database")
    compute, scheduler = Compute(bus), CellSchedulerClient(scheduler_bus)
    notifier = Notifier(conf, f"{NAME}:{conf.host}")
    outside_ports = _outside_ports(conf)
    notifications = ServerNotifications(database, notifier)
    claims = MoveClaims(database, scheduler, conf.conductor.max_attempts)
    lease = conf.conductor.task_lease_seconds
    moves = ServerMoves(database, claims, seconds=lease / 2, lease_seconds=lease)
    filterings = HostSecurityGroups(
        database, compute, filters=conf.network.driver in security_groups.DRIVERS
    )
    deletion = Deletion(database, scheduler, filterings, outside_ports)
    builds = Builds(
        conf.host,
        database,
        scheduler,
        compute,
        notifications,
        max_attempts=conf.conductor.max_attempts,
        seconds=lease / 2,
        outside_ports=outside_ports,
    )
    outcomes = OperationOutcomes(
        conf.host, database, builds, moves, deletion, compute, notifications
    )
    manager = _manager(
        conf,
        database,
        outcomes=outcomes,
        guests=GuestReports(database, notifier),
        filterings=filterings,
        report_parts=(report_parts := ReportParts(scheduler)),
    )
    group = load_group(conf, binary=NAME)
    patience = HostTimeouts.of(down_time=conf.service_down_time)
    liveness_reporter = LivenessReporter(
        database, group, scheduler, interval=conf.service_report_interval, patience=patience
    )
    sweeper = CellSweeper(
        database,
        outcomes,
        Confirmations(database, outcomes, conf.compute.resize_confirm_window),
        Offloads(database, outcomes, conf.compute.shelved_offload_time),
        surely_down=liveness_reporter.surely_down,
        lease_seconds=conf.conductor.task_lease_seconds,
    )
    me = {"host": conf.host, "binary": NAME}
    settle = functools.partial(manager.report_service, admin_context(), **me)
    heartbeat = functools.partial(CellConductor(bus).report_service, admin_context(), **me)
    return Daemon(
        NAME,
        checks=[_checks.schema(database, migrations.CELL), _checks.broker(conf, None)],
        on_start=[
            StartupCheck("its cell to be mapped", settle),
            StartupCheck("the reply queue", bus.expect_replies),
            StartupCheck("the reply queue of the scheduler bus", scheduler_bus.expect_replies),
        ],
        servers=[RpcServer(bus, CellConductor, manager, name=conf.host, threads=conf.rpc_threads)],
        periodics=[
            Periodic(patience.own_interval, heartbeat, "heartbeat"),
            *_looking(conf, liveness_reporter),
            Periodic(lambda: conf.service_report_interval, report_parts.ask, "read parts"),
            Periodic(lambda: conf.conductor.sweep_interval, sweeper.sweep, "sweeper"),
        ],
        closing=[group, scheduler_bus, bus, database],
    )


def _looking(conf: cfg.ConfigOpts, liveness_reporter: LivenessReporter) -> list[Periodic]:
    return [
        Periodic(lambda: conf.service_report_interval, liveness_reporter.beat, "service group"),
        Periodic(LOOK, liveness_reporter.look, "liveness"),
    ]


def _outside_ports(conf: cfg.ConfigOpts) -> ExternalPorts:
    """Return the service that releases ports that are not rows of this cell."""
    return NeutronPorts(Neutron(conf).ours) if conf.network.driver == DRIVER else NONE


def _manager(
    conf: cfg.ConfigOpts,
    database: Database,
    *,
    outcomes: OperationOutcomes,
    guests: GuestReports,
    filterings: HostSecurityGroups,
    report_parts: ReportParts,
) -> CellConductorManager:
    known = networks.parse(conf.network.local_networks)
    return CellConductorManager(
        database,
        outcomes=outcomes,
        guests=guests,
        interfaces=Interfaces(database, known),
        filterings=filterings,
        report_parts=report_parts,
        lease_seconds=conf.conductor.task_lease_seconds,
    )


def main() -> None:
    _run.run(_options.load(NAME), build)
