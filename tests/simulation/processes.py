"""The daemons of a world: put together by ``roost.cmd``, killed at any moment, started again."""

import importlib
import logging
import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from roost.cmd import _checks
from roost.cmd._waiting import StartupCheck
from roost.compute import host_identity
from roost.compute.virt.fake import driver as fake_driver
from roost.compute.virt.fake.faults import FaultRule
from tests.simulation import twins
from tests.simulation.loop import Killed, Task
from tests.simulation.substitutes import Executor

if TYPE_CHECKING:
    from tests.simulation.simulated_cloud import World

LOG = logging.getLogger(__name__)
# What is done every second in life, and would be most of what a world does. Seconds.
_SELDOM = {
    "liveness": 6.0,  # with less, schedulers take all hosts for down after two minutes
    "reports": 2.0,
    "expiry": 20.0,
    "service group": 90.0,
    "snapshots": 60.0,
    "listening": 4.0,
    "echo": 10.0,
    "fencing": 1.0,
}


class People:
    """Whoever is no daemon: users, operators, fate. They do not die, and their clocks are right."""

    dead = False
    ahead = up = 0.0

    def __init__(self, name: str) -> None:
        self.name = name
        self.tasks: dict[Task, None] = {}
        self.servers: list[Any] = []

    def note(self, what: str) -> None:
        LOG.info("%s", what)

    def crash(self) -> None:
        """They do not."""

    def end_tasks(self) -> None:
        for task in list(self.tasks):
            task.end()


class Process(People):
    """One daemon, from one start to the next crash, on a machine of its own.

    ``ahead``: seconds by which its clock is wrong; ``up``: for how long its machine has run.
    """

    def __init__(self, world: "World", name: str, program: str, conf: Any) -> None:
        super().__init__(name)
        self.world, self.conf = world, conf
        self.ahead, self.up = world.clock_of(name)
        self.module = importlib.import_module(
            f"roost.cmd.{program.removeprefix('roost-').replace('-', '_')}"
        )
        self.daemon: Any = None
        self.app: Any = None

    def start(self) -> None:
        self.world.loop.spawn(self, self._start, "start")

    def _start(self) -> None:
        self.daemon = self.module.build(self.conf)
        for periodic in self.daemon.periodics:
            if periodic.name in _SELDOM:
                periodic._seconds = _SELDOM[periodic.name]
        self.daemon.start()

    def crash(self) -> None:
        """Die, with all memory; what others hold for it stays."""
        if self.dead:
            return
        self.dead = True
        self.world.buried(self)
        for server in self.servers:
            server.stop()
        if self.world.loop.task is None:
            self.end_tasks()
        else:
            self.world.loop.after(0, self.end_tasks)

    @property
    def serves(self) -> bool:
        return not self.dead and self.daemon is not None and self.daemon.serving


class HttpStub:
    """Where an API would listen: requests come by :meth:`World.ask`."""

    address = "the world"

    def start(self) -> None:
        """Nothing to open."""

    stop = wait = start


class SimFaults:
    """The trouble of one host, as the sea has it."""

    def __init__(self, world: "World", host: str) -> None:
        self._world, self._host = world, host

    def strike(self, step: str) -> None:
        world, task = self._world, self._world.loop.task
        assert task is not None
        if task.owner.dead:
            raise Killed
        world.sea.point(task.owner, f"before {step} on {self._host}")
        world.loop.sleep(world.sea.guest_takes())
        kind = world.sea.guest_fails(step)
        if kind is not None:
            world.note(f"{step} fails on {self._host}: {kind}")
            FaultRule(step, kind=kind).strike(step)


class Silent:
    """A notifier that nobody listens to."""

    def __init__(self, *_details: Any) -> None:
        self.info = self.error = lambda *_told: None
        self.enabled = False

    def __getattr__(self, _name: str) -> Callable[..., None]:
        return lambda *_told, **_named: None


class UnheldIdentity(host_identity.HostIdentity):
    """One that nobody else holds: two daemons are never on one, and a crash lets go of nothing."""

    def hold(self) -> None:
        """Do nothing."""


def replacements(world: "World") -> list[tuple[Any, str, Any]]:
    """What daemons are put together of instead, while a world is on: (module, name, by what)."""

    def http(app: Any, **_where: Any) -> HttpStub:
        assert world.loop.task is not None
        world.loop.task.owner.app = app
        return HttpStub()

    def load_virt(conf: Any) -> fake_driver.FakeDriver:
        driver = fake_driver.FakeDriver.from_conf(conf)
        driver._faults = SimFaults(world, conf.host)
        return driver

    always = lambda *_things: StartupCheck("nothing", lambda: None)  # noqa: E731
    found: list[tuple[Any, str, Any]] = [(_checks, "schema", always), (_checks, "broker", always)]
    by_name: dict[str, Any] = {
        "Bus": world.bus,
        "Database": world.servers.open,
        "Notifier": Silent,
        "HostIdentity": UnheldIdentity,
        "load_virt": load_virt,
        "in_process": http,
    }
    for module in world.modules:
        found += [(module, name, ours) for name, ours in by_name.items() if name in vars(module)]
    found.append((importlib.import_module("roost.concurrency"), "executor", Executor))
    found.append((fake_driver.FakeDriver, "_write", twins.watched(world)))
    return found


def guests_of(folder: pathlib.Path) -> list[str]:
    """Return the uuids of a host's guests, whole or half made."""
    return sorted(path.stem for path in folder.glob("guests/*.json"))
