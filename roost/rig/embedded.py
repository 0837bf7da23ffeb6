"""The rig in one process: an in-memory bus, SQLite files, fake hypervisors, HTTP by threads.

The daemons are those that ``cmd/`` builds for real, from the same configuration files. Tests use
:class:`EmbeddedRig` in their own process; ``roost-rig up --embedded`` runs ``serve.py``.
"""

import importlib
import logging
import pathlib
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from roost import exception
from roost.cmd import _options
from roost.context import admin_context
from roost.rig.files import Options
from roost.rig.install import install, map_hosts
from roost.rig.plan import API_LEVEL, Plan, new_plan
from roost.rig.services.private import free_port
from roost.rpc.transport import Bus
from roost.scheduler.client import SchedulerClient

if TYPE_CHECKING:
    from roost.cmd._daemon import Daemon

LOG = logging.getLogger(__name__)
READY_SECONDS = 60
_API = "api"
# Everything happens soon: a rig is for people and tests, who wait.
QUICK: Options = {
    "DEFAULT": {"service_report_interval": 1.0},
    "conductor": {"sweep_interval": 1.0},
}


class PlannedRig:
    """A small cloud inside this process."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._daemons: dict[str, Daemon] = {}

    @property
    def endpoint(self) -> str:
        return self.plan.endpoint

    @property
    def state(self) -> pathlib.Path:
        return self.plan.state

    def start(self) -> None:
        """Start everything; return when all hosts can be booted on and the API answers.

        :raises roost.exception.Timeout: when that takes too long
        """
        self.plan.save()
        install(self.plan)
        _at_once(self._start, [daemon.name for daemon in self.plan.daemons if daemon.topic])
        self._wait_for_hosts()
        map_hosts(self.plan)
        for daemon in self.plan.daemons:
            if not daemon.topic:
                self._start(daemon.name)
        LOG.info("the rig serves %s", self.endpoint)

    def stop(self) -> None:
        """Stop everything, all at once."""
        _at_once(self._stop, list(self._daemons))

    def kill(self, name: str) -> None:
        """End one daemon without waiting for its work under way."""
        self.plan.find(name)
        self._stop(name, grace=0)

    def stop_daemon(self, name: str) -> None:
        """End one daemon once its work under way is done: the rest of its threads ends, too."""
        self.plan.find(name)
        self._stop(name)

    def start_daemon(self, name: str) -> None:
        """Start a daemon that was killed; one that runs is left alone."""
        self.plan.find(name)
        self._start(name)

    def conf(self, name: str) -> cfg.ConfigOpts:
        """Return the configuration of a daemon, as it reads it."""
        daemon = self.plan.find(name)
        return _options.read(daemon.program, ["--config-file", str(self.plan.config_file(name))])

    def _start(self, name: str) -> None:
        if name in self._daemons:
            return
        program = self.plan.find(name).program
        module = program.removeprefix("roost-").replace("-", "_")
        build = importlib.import_module(f"roost.cmd.{module}").build
        daemon: Daemon = build(self.conf(name))
        daemon.start()
        self._daemons[name] = daemon

    def _stop(self, name: str, grace: float = 10.0) -> None:
        daemon = self._daemons.pop(name, None)
        if daemon:
            daemon.stop(grace)

    def _wait_for_hosts(self) -> None:
        bus = Bus(self.conf(_API), self.plan.bus_url(API_LEVEL))
        scheduler = SchedulerClient(bus)
        expected = set(self.plan.all_hosts)
        deadline = time.monotonic() + READY_SECONDS
        while True:
            known = {report.host for report in scheduler.list_hosts(admin_context())}
            if expected <= known:
                return
            if time.monotonic() > deadline:
                missing = ", ".join(sorted(expected - known))
                raise exception.Timeout(f"the scheduler has not heard of {missing}")
            time.sleep(0.02)


class EmbeddedRig(PlannedRig):
    """The same, planned here: what tests use.

    :param overrides: options for all daemons, by group
    :param inventory: what hosts pretend to have, by name: see
    :mod:`roost.compute.virt.fake.inventory`
    :param metadata: whether guests are told of themselves, too
    """

    def __init__(
        self,
        state: pathlib.Path,
        *,
        cells: int = 2,
        hosts: int = 3,
        overrides: Options | None = None,
        inventory: Mapping[str, Any] | None = None,
        metadata: bool = False,
    ) -> None:
        options = {**QUICK}
        for group, values in (overrides or {}).items():
            options[group] = {**options.get(group, {}), **values}
        plan = new_plan(
            state,
            port=free_port(),  # others may start beside it
            cells=cells,
            hosts=hosts,
            overrides=options,
            inventory=inventory or {},
            metadata=metadata,
        )
        super().__init__(plan)


def _at_once(function: Callable[[str], object], names: Sequence[str]) -> None:
    """Call the function for all names in parallel; raise what the first of them raised."""
    with futures.ThreadPoolExecutor(max_workers=len(names)) as pool:
        for called in [pool.submit(function, name) for name in names]:
            called.result()
