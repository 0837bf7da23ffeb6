"""roost-compute: runs the servers of one host. One process per host, on its cell's bus."""

from roost import concurrency

concurrency.select()

import functools
import logging
import pathlib
from typing import Final

from oslo_config import cfg

from roost import exception
from roost.cmd import _checks, _options, _parts, _run
from roost.cmd._daemon import Daemon, Periodic, RpcServer
from roost.cmd._waiting import StartupCheck
from roost.compute import host as compute_host
from roost.compute import work_queue
from roost.compute.collectors import Collectors
from roost.compute.config_drive import ConfigDrives
from roost.compute.host import Host
from roost.compute.host_identity import HostIdentity
from roost.compute.host_report import HostSettings
from roost.compute.image_cache import ImageCache
from roost.compute.leases import LeaseKeeper
from roost.compute.manager import ComputeManager
from roost.compute.operations import consoles
from roost.compute.operations.operation_queue import Executors
from roost.compute.resource_tracker import ResourceTracker
from roost.image.driver import load_store
from roost.image.signatures import CertificateFolder, Signatures
from roost.rpc.cell_conductor import CellConductor
from roost.rpc.compute import Compute
from roost.rpc.transport import Bus
from roost.scheduler.client import CellSchedulerClient, Reporter
from roost.servicegroup.driver import ServiceGroup, load_group

LOG = logging.getLogger(__name__)
NAME = "roost-compute"
# Numbers of simultaneous tasks: a guest may take a minute to stop, a snapshot an hour.
DEVICES: Final = 8
ENDS: Final = 16
IMAGES: Final = 16
POWER: Final = 32
REPORTS: Final = 3  # heartbeats per report to the scheduler when nothing changes
TICK: Final = 0.5  # seconds between two checks whether to report to the scheduler or the cell
WATCH: Final = 2.0  # seconds between two checks of guests of abandoned builds
SETTLE: Final = 10.0  # seconds between two queries for instances that wait for a message
TIDY: Final = 600.0  # seconds between two searches for files that no guest needs any more


def build(conf: cfg.ConfigOpts) -> Daemon:
    """Assemble the compute daemon of one host."""
    bus = Bus(conf)
    scheduler_bus = _parts.scheduler_bus(conf, bus)
    conductor = CellConductor(bus)
    bus.objects.backporter = conductor.object_backport
    group = load_group(conf, binary=NAME)

    def heartbeat() -> None:
        try:
            manager.heartbeat()
        except exception.Conflict as error:
            daemon.abandon(error.message)

    def take_state_path() -> None:
        try:
            state.hold()
            LOG.info("the state path is %s", state.state_id)
        except exception.Conflict as error:
            daemon.abandon(error.message)
            raise

    state = HostIdentity(pathlib.Path(conf.state_path, conf.host))
    client = CellSchedulerClient(scheduler_bus)
    manager = _manager(conf, conductor, client=client, group=group, state=state)
    daemon = Daemon(
        NAME,
        checks=[_checks.broker(conf, None)],
        on_start=[
            StartupCheck("the state path", take_state_path),
            StartupCheck("the reply queue", bus.expect_replies),
            StartupCheck("the collectors", manager.ask_collectors),
            StartupCheck("a cell-conductor", manager.start),
        ],
        servers=[RpcServer(bus, Compute, manager, name=conf.host, threads=conf.rpc_threads)],
        periodics=[
            Periodic(lambda: conf.service_report_interval, heartbeat, "heartbeat"),
            Periodic(lambda: conf.service_report_interval, manager.beat, "service group"),
            Periodic(TICK, manager.tick, "reports"),
            Periodic(SETTLE, manager.settle, "forgotten instances"),
            Periodic(WATCH, manager.watch, "builds left behind"),
            Periodic(manager.renewal_pause, manager.renew_leases, "leases"),
            Periodic(manager.fencing_pause, manager.fence, "fencing"),
            *_collecting(manager),
            *_following(manager),
            *_reconciling(conf, manager),
            *_healing(conf, manager),
            Periodic(TIDY, manager.tidy, "tidying"),
        ],
        drain=[lambda seconds: manager.drain(max(0.0, seconds - work_queue.LAST_SECONDS))],
        on_stop=[state.close],
        closing=[manager, group, scheduler_bus, bus],
    )
    return daemon


def _collecting(manager: ComputeManager) -> list[Periodic]:
    """Ask each collector on its own interval."""
    return [
        Periodic(seconds, functools.partial(manager.ask_collectors, name), f"collector {name}")
        for name, seconds in manager.collector_intervals().items()
    ]


def _following(manager: ComputeManager) -> list[Periodic]:
    """Follow power changes of guests, if the hypervisor reports them."""
    return [Periodic(TICK, manager.follow, "guests")] if manager.hears_of_guests else []


def _reconciling(conf: cfg.ConfigOpts, manager: ComputeManager) -> list[Periodic]:
    """Compare guests with rows periodically, unless that is for starts only."""
    if not conf.compute.reconcile_interval:
        return []
    return [Periodic(lambda: conf.compute.reconcile_interval, manager.reconcile, "reconcile")]


def _healing(conf: cfg.ConfigOpts, manager: ComputeManager) -> list[Periodic]:
    """Check for ports that have changed in Neutron, unless events are to report all."""
    if not (manager.has_ports_elsewhere and conf.neutron.refresh_interval):
        return []
    seconds = conf.neutron.refresh_interval
    return [Periodic(seconds, manager.heal_networks, "ports that have changed")]


def _manager(
    conf: cfg.ConfigOpts,
    conductor: CellConductor,
    *,
    client: CellSchedulerClient,
    group: ServiceGroup,
    state: HostIdentity,
) -> ComputeManager:
    virt = compute_host.load_virt(conf)
    collectors = Collectors.from_conf(conf, node=virt.resources().node, driver=virt)
    tracker = ResourceTracker(
        virt,
        settings=HostSettings.from_conf(conf),
        collectors=collectors,
        on_change=lambda: reporter.changed(),  # noqa: PLW0108 - each needs the other; this is later
    )
    reporter = Reporter(
        client,
        report=tracker.report,
        interval=REPORTS * conf.service_report_interval,
        pause=conf.service_report_interval / 2,
    )
    store = load_store(conf)
    host = Host(
        name=conf.host,
        conductor=conductor,
        virt=virt,
        networks=compute_host.load_network(conf, conductor),
        drives=_drives(conf),
        store=store,
        images=ImageCache(
            store,
            folder=pathlib.Path(conf.state_path, conf.host, "images"),
            lifetime=conf.compute.unused_image_lifetime,
            most=conf.compute.image_cache_max_bytes,
            signatures=_signatures(conf),
        ),
        tracker=tracker,
        leases=LeaseKeeper(conductor, host=conf.host),
    )
    return ComputeManager(
        host,
        availability_zone=conf.compute.availability_zone,
        reporter=reporter,
        group=group,
        executors=Executors(
            builds=concurrency.executor(conf.compute.max_concurrent_builds),
            ends=concurrency.executor(ENDS),
            power=concurrency.executor(POWER),
            images=concurrency.executor(IMAGES),
            copies=concurrency.executor(conf.compute.max_concurrent_moves),
            devices=concurrency.executor(DEVICES),
        ),
        door=consoles.ConsoleListener(virt, _door(conf)),
        resumes=conf.compute.resume_guests_state_on_host_boot,
        state=state,
    )


def _signatures(conf: cfg.ConfigOpts) -> Signatures:
    group = conf.image
    if group.verify_signatures and not group.certificates:
        raise exception.Invalid("[image] verify_signatures needs [image] certificates: a folder.")
    return Signatures(
        CertificateFolder(group.certificates) if group.certificates else None,
        always=group.verify_signatures,
        trusted=group.default_trusted_certificate_ids,
    )


def _door(conf: cfg.ConfigOpts) -> consoles.ConsoleSettings:
    group = conf.consoles
    return consoles.ConsoleSettings(
        listen=str(group.host_listen),
        port=group.host_port,
        address=str(group.host_address) if group.host_address else None,
    )


def _drives(conf: cfg.ConfigOpts) -> ConfigDrives:
    return ConfigDrives(
        folder=pathlib.Path(conf.state_path, conf.host, "config_drives"),
        operator=_parts.operator(conf),
        vendors=_parts.vendors(conf),
        force=conf.compute.force_config_drive,
    )


def main() -> None:
    _run.run(_options.load(NAME), build, workers=1)
