"""The rig that is broken: daemons, private servers, and a way to each that can be cut."""

import contextlib
import dataclasses
import json
import pathlib
import shutil
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from roost import concurrency, exception
from roost.rig import backing, boots, lifecycle
from roost.rig.chaos.evacuations import HostEvacuations
from roost.rig.chaos.faults import Ground
from roost.rig.client import Client
from roost.rig.files import Options
from roost.rig.forwarder import Forwarder
from roost.rig.install import IMAGE
from roost.rig.plan import Plan, new_plan
from roost.rig.processes import Supervisor
from roost.rig.services import MariaDB, PostgreSQL, RabbitMQ
from roost.rig.services.private import free_port

DATABASES: Final = ("postgresql", "mariadb")
BALLAST: Final = "ballast"  # what the names of its servers begin with
_BALLAST_GB: Final = (128, 64, 32, 16, 8, 4, 2, 1)  # of memory; a host has 256
_SERVING: Final = (" serves", " answers")  # what daemons log when they are ready
_SERVE_SECONDS: Final = 90.0  # until then, or else something else keeps them from it
_EMPTY_SECONDS: Final = 60.0  # in which the API should take the deletes


@dataclasses.dataclass(frozen=True)
class Size:
    """How large a rig is, and what it stands on."""

    cells: int
    hosts: int
    copies: int
    database: str
    overrides: Options


class Arena:
    """A rig on servers of its own, which nobody else uses, so that they may be broken."""

    def __init__(self, state: pathlib.Path, size: Size) -> None:
        self._folder = state.resolve() / "services"
        self.broker = RabbitMQ.start(self._folder)
        try:
            self.database: PostgreSQL | MariaDB = _database(size.database, self._folder)
        except exception.RoostError:
            self.broker.stop()
            raise
        bare = new_plan(
            state,
            port=free_port(),
            cells=size.cells,
            hosts=size.hosts,
            copies=size.copies,
            bus=self.broker.url(""),
            database=self.database.url(""),
            overrides=size.overrides,
        )
        plan = backing.with_users(bare, say=print)
        self.ways = {name: _way(plan, name) for name in plan.ways}
        detours = {name: f"127.0.0.1:{way.port}" for name, way in self.ways.items()}
        self.plan: Plan = dataclasses.replace(plan, detours=detours)
        self.supervisor = Supervisor(plan.rig, plan.state)
        self.client = Client(plan.endpoint)

    def up(self, say: lifecycle.Say) -> None:
        """Start the rig; return when everything answers."""
        for way in self.ways.values():
            way.open()
        lifecycle.up(self.plan, mode=concurrency.THREADING, say=say)

    def down(self) -> None:
        """End everything that runs; what is in the folder stays."""
        self.supervisor.stop()
        for way in self.ways.values():
            way.resume()
            way.close()
        self.broker.stop()
        self.database.stop()

    def forget(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.plan.state, ignore_errors=True)

    def ground(self) -> Ground:
        """Return what faults may break."""
        return Ground(
            daemons=RigProcesses(self.plan, self.supervisor),
            broker=self.broker,
            lay_buses=lambda: backing.create_buses(self.plan, self.broker),
            database=self.database,
            ways=self.ways,
            ballast=BallastServers(self.client),
            drivers=FaultsFile(self.plan.faults_file),
            evacuations=HostEvacuations(self.plan, self.client),
        )

    def prototype(self) -> boots.BootRequest:
        """Return what every server of the storm is like."""
        return boots.BootRequest(
            flavor=boots.choose(self.client.flavors(), "m1.tiny", "flavor"),
            image=boots.choose(self.client.images(), IMAGE, "image"),
        )

    def larger_flavor(self) -> str:
        """Return the id of the flavor that servers are resized to."""
        return boots.choose(self.client.flavors(), "m1.small", "flavor")

    def guests(self) -> Mapping[str, Mapping[str, str]]:
        """Return what is on the disks of the hosts: the state of each guest, by host and uuid."""
        found: dict[str, dict[str, str]] = {}
        for host in self.plan.all_hosts:
            files = (self.plan.state / "var" / host).glob("**/guests/*.json")
            found[host] = {file.stem: _power_state(file) for file in files}
        return found


class RigProcesses:
    """The rig's processes; one that is started counts as whole when it serves, says its log."""

    def __init__(
        self, plan: Plan, supervisor: Supervisor, *, patience: float = _SERVE_SECONDS
    ) -> None:
        self._plan = plan
        self._supervisor = supervisor
        self._patience = patience

    def signal(self, name: str, signal: str) -> int:
        return self._supervisor.signal(name, signal)

    def start_process(self, name: str) -> None:
        log = self._plan.log_file(name)
        before = log.stat().st_size if log.exists() else 0
        self._supervisor.start_process(name)
        deadline = time.monotonic() + self._patience
        while not _serves(log, before) and time.monotonic() < deadline:
            time.sleep(0.1)


class BallastServers:
    """Servers of halving sizes on one host, which take nearly all the memory that it has left."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def fill(self, host: str) -> None:
        image = boots.choose(self._client.images(), IMAGE, "image")
        for size in _BALLAST_GB:
            body: dict[str, Any] = {
                "name": f"{BALLAST}-{host}-{size}",
                "flavorRef": self._flavor(size),
                "imageRef": image,
                "networks": "none",
                "host": host,
            }
            self._client.post("/servers", {"server": body})

    def empty(self, host: str) -> None:
        deadline = time.monotonic() + _EMPTY_SECONDS
        while True:
            try:
                return self._delete(host)
            except (exception.Conflict, exception.Unavailable):
                if time.monotonic() > deadline:
                    raise
            time.sleep(1)

    def _delete(self, host: str) -> None:
        for server in list(self._client.servers()):
            if server["name"].startswith(f"{BALLAST}-{host}-"):
                self._client.delete_server(server["id"])

    def _flavor(self, size: int) -> str:
        name = f"{BALLAST}-{size}"
        with contextlib.suppress(exception.NotFound):
            return boots.choose(self._client.flavors(), name, "flavor")
        flavor = {"name": name, "id": name, "vcpus": 1, "ram": size * 1024, "disk": 1}
        self._client.post("/flavors", {"flavor": flavor})
        return name


class FaultsFile:
    """The file that fake hypervisors look at, with the rules of the faults in force."""

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._rules: dict[int, Mapping[str, Any]] = {}

    def add(self, number: int, rule: Mapping[str, Any]) -> None:
        with self._changing():
            self._rules[number] = rule

    def remove(self, number: int) -> None:
        with self._changing():
            self._rules.pop(number, None)

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        with self._lock:
            yield
            new = self._path.with_suffix(".new")
            new.write_text(json.dumps([dict(rule) for rule in self._rules.values()]))
            new.replace(self._path)


def _serves(log: pathlib.Path, since: int) -> bool:
    with contextlib.suppress(FileNotFoundError), log.open(errors="replace") as lines:
        lines.seek(since)
        return any(word in line for line in lines for word in _SERVING)
    return False


def _database(kind: str, folder: pathlib.Path) -> PostgreSQL | MariaDB:
    return MariaDB.start(folder) if kind == "mariadb" else PostgreSQL.start(folder)


def _way(plan: Plan, name: str) -> Forwarder:
    server = urlsplit(plan.bus if name.startswith("bus/") else plan.database)
    if server.hostname is None or server.port is None:
        raise exception.Invalid(f"{name} is at no host and port")
    return Forwarder((server.hostname, server.port))


def _power_state(file: pathlib.Path) -> str:
    try:
        return str(json.loads(file.read_text())["power_state"])
    except FileNotFoundError:  # destroyed meanwhile
        return ""
