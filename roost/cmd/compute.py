"""roost-compute: runs the servers of one host. One process per host, on its cell's bus."""

from roost import concurrency

concurrency.select()

import pathlib
from typing import Final

from oslo_config import cfg

from roost.cmd import _checks, _options, _parts, _run
from roost.cmd._daemon import Daemon, RpcServer
from roost.cmd._periodic import Periodic
from roost.cmd._waiting import Check
from roost.compute import build_queue, plugins
from roost.compute.host import Host
from roost.compute.image import ImageCache
from roost.compute.manager import ComputeManager
from roost.compute.resource_tracker import HostSettings, ResourceTracker
from roost.image.plugins import load_store
from roost.rpc.cell_conductor import CellConductor
from roost.rpc.compute import Compute
from roost.rpc.transport import Bus
from roost.scheduler.client import Reporter, SchedulerClient

NAME = "roost-compute"
TICK: Final = 0.5  # seconds between two looks whether the scheduler should hear of a change


def build(conf: cfg.ConfigOpts) -> Daemon:
    """Put the compute daemon of one host together."""
    bus = Bus(conf)
    scheduler_bus = _parts.scheduler_bus(conf, bus)
    conductor = CellConductor(bus)
    bus.objects.backporter = conductor.object_backport
    manager = _manager(conf, conductor, SchedulerClient(scheduler_bus))
    return Daemon(
        NAME,
        checks=[_checks.broker(conf, None)],
        on_start=[
            Check("the way for answers", bus.expect_replies),
            Check("the way for the scheduler's answers", scheduler_bus.expect_replies),
            Check("a cell-conductor", manager.start),
        ],
        servers=[RpcServer(bus, Compute, manager, name=conf.host, threads=conf.rpc_threads)],
        periodics=[
            Periodic(lambda: conf.service_report_interval, manager.heartbeat, "heartbeat"),
            Periodic(TICK, manager.tick, "reports"),
        ],
        drain=[lambda seconds: manager.drain(max(0.0, seconds - build_queue.LAST_SECONDS))],
        closing=[scheduler_bus, bus],
    )


def _manager(
    conf: cfg.ConfigOpts, conductor: CellConductor, client: SchedulerClient
) -> ComputeManager:
    virt = plugins.load_virt(conf)
    tracker = ResourceTracker(
        virt,
        settings=HostSettings.from_conf(conf),
        on_change=lambda: reporter.changed(),  # noqa: PLW0108 - each needs the other; this is later
    )
    reporter = Reporter(client, report=tracker.report, interval=conf.compute.report_interval)
    host = Host(
        name=conf.host,
        conductor=conductor,
        virt=virt,
        networks=plugins.load_network(conf, conductor),
        images=ImageCache(
            load_store(conf), folder=pathlib.Path(conf.state_path, conf.host, "images")
        ),
        tracker=tracker,
    )
    return ComputeManager(
        host,
        availability_zone=conf.compute.availability_zone,
        reporter=reporter,
        executor=concurrency.executor(conf.compute.max_concurrent_builds),
    )


def main() -> None:
    _run.run(_options.load(NAME), build, workers=1)
