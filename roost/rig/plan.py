"""What a rig consists of: its daemons, each with its options; its buses; its databases.

Decided once by ``up``, kept in the rig's folder, and read by every later command. Nothing here
starts or connects anything.
"""

import dataclasses
import functools
import json
import pathlib
import socket
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Self
from urllib.parse import urlsplit

from roost import exception

Options = Mapping[str, Mapping[str, Any]]
API_LEVEL = "api"
CELL0 = "cell0"
NO_LIMIT = -1
IN_PROCESS = "fake"
# Of each daemon, and connections to each database: so a rig fits into the hundred that PostgreSQL
# allows when nobody has told it otherwise.
THREADS = 8


@dataclasses.dataclass(frozen=True)
class Daemon:
    """One daemon of the rig: the program that it runs, and the options that it gets.

    ``topic`` is what it serves RPC under (None: it speaks HTTP).
    """

    name: str
    program: str
    topic: str | None
    cell: str | None
    options: dict[str, dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Plan:
    """The size and the place of a rig.

    :param rig: a short name that nobody else uses; names of buses and databases contain it
    :param bus: the URL of the broker, without a virtual host; ``fake://`` for the embedded rig
    :param database: the URL of the database server, without a name, or ``sqlite://``
    :param overrides: options for all daemons, by group
    """

    rig: str
    state: pathlib.Path
    cells: int
    hosts: int
    port: int
    bus: str = "fake://"
    database: str = "sqlite://"
    overrides: Options = dataclasses.field(default_factory=dict)

    @property
    def embedded(self) -> bool:
        return urlsplit(self.bus).scheme == IN_PROCESS

    @property
    def endpoint(self) -> str:
        """The address of the compute API, as clients are given it."""
        return f"http://127.0.0.1:{self.port}/v2.1"

    @property
    def cell_names(self) -> list[str]:
        return [f"cell{number}" for number in range(1, self.cells + 1)]

    @property
    def faults_file(self) -> pathlib.Path:
        """What the fake hypervisors look at to learn what shall go wrong."""
        return self.state / "faults.json"

    @property
    def images(self) -> pathlib.Path:
        return self.state / "images"

    def hosts_of(self, cell: str) -> list[str]:
        return [f"{cell}-host{number}" for number in range(1, self.hosts + 1)]

    @property
    def all_hosts(self) -> list[str]:
        return [host for cell in self.cell_names for host in self.hosts_of(cell)]

    def cell_of(self, host: str) -> str:
        """Return the cell that a host's name tells (cell0 for an instance that has no host)."""
        return host.split("-", 1)[0] if host else CELL0

    def bus_name(self, level: str) -> str:
        """Return the virtual host of the API level or of a cell."""
        return f"roost-{self.rig}-{level}"

    def bus_url(self, level: str) -> str:
        """Return the bus of the API level or of a cell."""
        parts = urlsplit(self.bus)
        return f"{parts.scheme}://{parts.netloc}/{self.bus_name(level)}"

    def database_name(self, whose: str) -> str:
        return f"roost_{self.rig}_{whose}"

    def database_url(self, whose: str) -> str:
        """Return the database ``api``, ``scheduler``, ``cell0`` or of a cell."""
        parts = urlsplit(self.database)
        if parts.scheme == "sqlite":
            return f"sqlite:///{self.state}/db/{whose}.sqlite"
        query = f"?{parts.query}" if parts.query else ""
        return f"{parts.scheme}://{parts.netloc}/{self.database_name(whose)}{query}"

    @property
    def bus_host(self) -> str:
        """Where the broker is, for people: no secrets."""
        return self._server(self.bus)

    @property
    def database_host(self) -> str:
        """Where the databases are, for people: no secrets."""
        return self._server(self.database)

    def _server(self, url: str) -> str:
        parts = urlsplit(url)
        kind = parts.scheme.partition("+")[0]
        return f"{kind} {parts.hostname}:{parts.port}" if parts.hostname else kind

    @property
    def bus_levels(self) -> list[str]:
        """Who has a bus of its own."""
        return [API_LEVEL, *self.cell_names]

    @property
    def databases(self) -> dict[str, str]:
        """The databases, each with the schema that it gets."""
        cells = dict.fromkeys([CELL0, *self.cell_names], "cell")
        return {API_LEVEL: "api", "scheduler": "scheduler", **cells}

    @functools.cached_property
    def daemons(self) -> list[Daemon]:
        """All daemons, in the order in which starting them is calmest."""
        return [
            self._scheduler(),
            *(daemon for cell in self.cell_names for daemon in self._cell(cell)),
            self._super_conductor(),
            self._api(),
        ]

    @property
    def operator(self) -> dict[str, dict[str, Any]]:
        """The options of ``roost-manage``, which reaches everything."""
        return _merged(
            {
                "DEFAULT": {"transport_url": self.bus_url(API_LEVEL)},
                "api_database": {"connection": self.database_url(API_LEVEL)},
                "scheduler_database": {"connection": self.database_url("scheduler")},
                "image": {"local_path": str(self.images)},
            },
            self.overrides,
        )

    def find(self, name: str) -> Daemon:
        """Return one daemon.

        :raises roost.exception.NotFound: with the names that there are
        """
        for daemon in self.daemons:
            if daemon.name == name:
                return daemon
        names = ", ".join(daemon.name for daemon in self.daemons)
        raise exception.NotFound(f"this rig has no daemon {name!r}; it has {names}")

    def config_file(self, name: str) -> pathlib.Path:
        return self.state / "etc" / f"{name}.conf"

    def log_file(self, name: str) -> pathlib.Path:
        return self.state / "log" / f"{name}.log"

    def _scheduler(self) -> Daemon:
        own = {"scheduler_database": {"connection": self.database_url("scheduler")}}
        return self._daemon("scheduler", "roost-scheduler", topic="scheduler", own=own)

    def _super_conductor(self) -> Daemon:
        own = {"api_database": {"connection": self.database_url(API_LEVEL)}}
        return self._daemon(
            "super-conductor", "roost-super-conductor", topic="super-conductor", own=own
        )

    def _api(self) -> Daemon:
        own: Options = {
            "api_database": {"connection": self.database_url(API_LEVEL)},
            "api": {"listen": "127.0.0.1", "port": self.port},
            "quota": {"instances": NO_LIMIT, "cores": NO_LIMIT, "ram": NO_LIMIT},
        }
        return self._daemon("api", "roost-api", topic=None, own=own)

    def _cell(self, cell: str) -> list[Daemon]:
        data = {"cell_database": {"connection": self.database_url(cell)}}
        conductor = self._daemon(
            f"{cell}-conductor", "roost-cell-conductor", topic="cell-conductor", cell=cell, own=data
        )
        faults = {"fake_driver": {"faults_file": str(self.faults_file)}}
        return [
            conductor,
            *(
                self._daemon(host, "roost-compute", topic="compute", cell=cell, own=faults)
                for host in self.hosts_of(cell)
            ),
        ]

    def _daemon(
        self, name: str, program: str, *, topic: str | None, own: Options, cell: str | None = None
    ) -> Daemon:
        common: Options = {
            "DEFAULT": {
                "host": name,
                "transport_url": self.bus_url(cell or API_LEVEL),
                "state_path": str(self.state / "var" / name),
                "service_report_interval": 2.0,
                "service_down_time": 10.0,
                "rpc_threads": THREADS,
            },
            "image": {"local_path": str(self.images)},
        }
        if cell:
            common = _merged(common, {"scheduler": {"transport_url": self.bus_url(API_LEVEL)}})
        options = _merged(_merged(common, own), self.overrides)
        return Daemon(name=name, program=program, topic=topic, cell=cell, options=options)

    def save(self) -> None:
        """Write the plan, and each daemon's configuration file, into the rig's folder."""
        for folder in ("etc", "log", "db", "images", "var"):
            (self.state / folder).mkdir(parents=True, exist_ok=True)
        values = {**dataclasses.asdict(self), "state": str(self.state)}
        _plan_file(self.state).write_text(json.dumps(values, indent=2) + "\n")
        for daemon in self.daemons:
            self.config_file(daemon.name).write_text(config_text(daemon.options))
        self.config_file("manage").write_text(config_text(self.operator))

    @classmethod
    def load(cls, state: pathlib.Path) -> Self:
        """Read the plan of the rig in a folder.

        :raises roost.exception.NotFound: when there is none
        """
        try:
            values = json.loads(_plan_file(state).read_text())
        except FileNotFoundError:
            raise exception.NotFound(
                f"there is no rig in {state}; start one with: roost-rig up --state {state}"
            ) from None
        return cls(**{**values, "state": pathlib.Path(values["state"])})


def new_plan(state: pathlib.Path, *, port: int | None = None, **values: Any) -> Plan:
    """Plan a rig in a folder, on a free port unless one is named."""
    name = uuid.uuid4().hex[:8]
    return Plan(rig=name, state=state.resolve(), port=port or free_port(), **values)


def free_port(preferred: int = 8774) -> int:
    """Return the preferred port of 127.0.0.1 if nobody has it, else some free one."""
    for port in (preferred, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise exception.Unavailable("127.0.0.1 has no free port")


def parse_settings(settings: Sequence[str]) -> dict[str, dict[str, str]]:
    """Read options from words like ``conductor.max_attempts=5``.

    :raises roost.exception.Invalid: naming the word that is not like that
    """
    options: dict[str, dict[str, str]] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        group, dot, option = name.partition(".")
        if not (group and dot and option and equals):
            raise exception.Invalid(f"{setting!r} must read GROUP.OPTION=VALUE")
        options.setdefault(group, {})[option] = value
    return options


def config_text(options: Options) -> str:
    """Write options as a configuration file."""
    groups = []
    for group, values in options.items():
        lines = [f"{name} = {_config_value(value)}" for name, value in values.items()]
        groups.append("\n".join([f"[{group}]", *lines]))
    return "\n\n".join(groups) + "\n"


def _config_value(value: Any) -> str:
    text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text.replace("$", "$$")


def _merged(under: Options, over: Options) -> dict[str, dict[str, Any]]:
    groups = [*under, *(group for group in over if group not in under)]
    return {group: {**under.get(group, {}), **over.get(group, {})} for group in groups}


def _plan_file(state: pathlib.Path) -> pathlib.Path:
    return state / "rig.json"
