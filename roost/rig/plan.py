"""What a rig consists of: its daemons, each with its options; its buses; its databases.

Decided once by ``up``, kept in the rig's folder, and read by every later command. Nothing here
starts or connects anything.
"""

import dataclasses
import functools
import json
import pathlib
import secrets
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Self
from urllib.parse import SplitResult, urlsplit

from roost import callers, concurrency, exception
from roost.compute.virt.fake.inventory import ALL_OTHERS
from roost.rig.files import Options, config_text, merged, write_secret
from roost.rig.hypervisors.network import RigLinks, free_subnet
from roost.rig.hypervisors.options import OF_ALL, of_consoles, of_host, of_proxy
from roost.rig.openstack.plan import Openstack, new_openstack
from roost.rig.services.private import free_port

API_LEVEL = "api"
CELL0 = "cell0"
METADATA = "metadata"
CONSOLES = "consoleproxy"
_PORT = 8774
_METADATA_PORT = 8775
_CONSOLE_PORT = 6080
# Whose guests are: pretended ones, or QEMU's.
FAKE, LIBVIRT = "fake", "libvirt"
_SCHEDULER = "scheduler"
NO_LIMIT = -1
_QUOTAS = (
    "instances", "cores", "ram", "metadata_items",
    "server_groups", "server_group_members", "key_pairs",
)  # fmt: skip
IN_PROCESS = "fake"
_FILE = "rig.json"
# Of each daemon, and connections to each database: so a rig fits into the hundred connections that
# PostgreSQL allows by default.
THREADS = 8
_HEARTBEATS: Mapping[str, float] = {"service_report_interval": 2.0, "service_down_time": 10.0}


@dataclasses.dataclass(frozen=True)
class PlannedDaemon:
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
    :param inventory: what hosts pretend to have, see :mod:`roost.compute.virt.fake.inventory`
    :param copies: how many there are of each daemon that need not be the only one of its kind:
        schedulers, super-conductors, the conductors of each cell
    :param bus_secrets: the passwords of the rig's own users of the broker, by level and host; none:
        all come as the user of ``bus``
    :param database_secrets: likewise of the database server: ``api``, ``scheduler``, each cell
    :param detours: by which host:port a bus or a database is reached, when not directly; by
        ``bus/LEVEL`` and ``database/NAME``
    :param metadata_port: where guests are told of themselves; None: nowhere
    :param metadata_secret: what those sign with who ask for guests
    :param console_port: where consoles are found by browsers; None: nowhere
    :param api_port: where roost-api listens behind a proxy at ``port``; None: there is no proxy
    :param driver: ``fake``, or ``libvirt`` for real guests
    :param subnet: the first three numbers of the addresses of hosts with real guests
    :param cache: what is kept for later rigs
    :param environments: variables of daemons beside those of all, by the daemon's name
    :param openstack: the Keystone, Glance and Neutron that run beside Roost
    """

    rig: str
    state: pathlib.Path
    cells: int
    hosts: int
    port: int
    bus: str = "fake://"
    database: str = "sqlite://"
    overrides: Options = dataclasses.field(default_factory=dict)
    inventory: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    copies: int = 1
    detours: Mapping[str, str] = dataclasses.field(default_factory=dict)
    bus_secrets: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    database_secrets: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)
    metadata_port: int | None = None
    metadata_secret: str = dataclasses.field(default="", repr=False)
    console_port: int | None = None
    api_port: int | None = None
    driver: str = FAKE
    subnet: str = ""
    cache: pathlib.Path = pathlib.Path()
    environments: Mapping[str, Mapping[str, str]] = dataclasses.field(default_factory=dict)
    openstack: Openstack = dataclasses.field(default_factory=Openstack)

    @property
    def embedded(self) -> bool:
        return urlsplit(self.bus).scheme == IN_PROCESS

    @property
    def endpoint(self) -> str:
        """The address of the compute API, as clients are given it."""
        return f"http://127.0.0.1:{self.port}/v2.1"

    @property
    def metadata_endpoint(self) -> str | None:
        """The address that tells guests of themselves, if there is one."""
        return f"http://127.0.0.1:{self.metadata_port}" if self.metadata_port else None

    @property
    def console_endpoint(self) -> str | None:
        """The address at which browsers find consoles, if there is one; without its scheme."""
        return f"127.0.0.1:{self.console_port}" if self.console_port else None

    @property
    def real(self) -> bool:
        """Whether guests are real."""
        return self.driver == LIBVIRT

    @property
    def network(self) -> RigLinks:
        """The links of the hosts, where guests are real."""
        return RigLinks(self.rig, self.subnet)

    @property
    def cell_names(self) -> list[str]:
        return [f"cell{number}" for number in range(1, self.cells + 1)]

    @property
    def faults_file(self) -> pathlib.Path:
        """What the fake hypervisors look at to learn what shall go wrong."""
        return self.state / "faults.json"

    @property
    def inventory_file(self) -> pathlib.Path:
        """What the fake hypervisors read when they start, if there is an inventory."""
        return self.state / "inventory.json"

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

    @property
    def bus_users(self) -> list[str]:
        """Whose daemons have a user of their own on the broker: each level, each host."""
        return [*self.bus_levels, *self.all_hosts]

    def bus_user(self, whose: str) -> str:
        """Return the rig's user of the broker for the daemons of a level, or for one host."""
        if whose in self.bus_levels:
            return f"roost-{self.rig}-{whose}"
        return f"{self.bus_user(self.cell_of(whose))}{callers.SEPARATOR}{whose}"

    def bus_url(self, level: str, *, as_: str | None = None) -> str:
        """Return the bus of the API level or of a cell.

        :param as_: whose daemons come: a level's or a host's; None: those of that level
        """
        parts = urlsplit(self._way(f"bus/{level}", self.bus))
        user = as_ or level
        if user in self.bus_secrets:
            parts = _login(parts, self.bus_user(user), self.bus_secrets[user])
        elif self.embedded:  # where nobody asks for passwords
            parts = parts._replace(netloc=f"{self.bus_user(user)}@")
        return f"{parts.scheme}://{parts.netloc}/{self.bus_name(level)}"

    def database_name(self, whose: str) -> str:
        return f"roost_{self.rig}_{whose}"

    def database_user(self, level: str) -> str:
        """Return the rig's user of the database server for the daemons of a level."""
        return f"roost_{self.rig}_{level}"

    def users_of(self, whose: str) -> list[str]:
        """Whose daemons use a database."""
        level = API_LEVEL if whose == CELL0 else whose
        return [level] if level in (API_LEVEL, _SCHEDULER) else [API_LEVEL, level]

    def database_url(self, whose: str, *, as_: str | None = None) -> str:
        """Return the database ``api``, ``scheduler``, ``cell0`` or of a cell.

        :param as_: whose daemons come: one of :meth:`users_of`; None: the owner
        """
        parts = urlsplit(self._way(f"database/{whose}", self.database))
        if parts.scheme == "sqlite":
            return f"sqlite:///{self.state}/db/{whose}.sqlite"
        if as_ is not None and as_ in self.database_secrets:
            parts = _login(parts, self.database_user(as_), self.database_secrets[as_])
        query = f"?{parts.query}" if parts.query else ""
        return f"{parts.scheme}://{parts.netloc}/{self.database_name(whose)}{query}"

    @property
    def ways(self) -> list[str]:
        """All that may be reached by a detour: each bus, each database."""
        buses = [f"bus/{level}" for level in self.bus_levels]
        return buses + [f"database/{whose}" for whose in self.databases]

    def _way(self, name: str, url: str) -> str:
        """Return the URL of a server, by the detour that there may be."""
        if name not in self.detours:
            return url
        parts = urlsplit(url)
        user, at, _server = parts.netloc.rpartition("@")
        return parts._replace(netloc=f"{user}{at}{self.detours[name]}").geturl()

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
    def daemons(self) -> list[PlannedDaemon]:
        """All daemons, in the order in which starting them is calmest."""
        return [
            *map(self._scheduler, self._copies_of("scheduler")),
            *(daemon for cell in self.cell_names for daemon in self._cell(cell)),
            *map(self._super_conductor, self._copies_of("super-conductor")),
            self._api(),
            *([self._metadata()] if self.metadata_port else []),
            *([self._consoleproxy()] if self.console_port else []),
        ]

    def _copies_of(self, name: str) -> list[str]:
        """Name the daemons of one kind: the first plainly, the others with their number."""
        return [name, *(f"{name}-{number}" for number in range(2, self.copies + 1))]

    @property
    def operator(self) -> dict[str, dict[str, Any]]:
        """The options of ``roost-manage``, which comes as the daemons do."""
        return merged(
            {
                "DEFAULT": {"transport_url": self.bus_url(API_LEVEL), **_HEARTBEATS},
                "api_database": self._data(API_LEVEL),
                "scheduler_database": self._data(_SCHEDULER),
                "bus": {"api_users": self.bus_user(API_LEVEL)},
                "image": {"local_path": str(self.images)},
            },
            self._said,
        )

    @property
    def owner(self) -> dict[str, dict[str, Any]]:
        """The options of ``roost-manage db sync``, which comes as the owner of the databases."""
        own: Options = {
            "api_database": {"connection": self.database_url(API_LEVEL)},
            "scheduler_database": {"connection": self.database_url(_SCHEDULER)},
        }
        return merged(merged(self.operator, own), self.overrides)

    @property
    def _said(self) -> Options:
        """What all daemons are told, whatever they are."""
        return merged(self.openstack.options, self.overrides)

    def _data(self, whose: str) -> dict[str, Any]:
        """Return what the daemons of a level are told of their database."""
        return {"connection": self.database_url(whose, as_=whose)}

    def find(self, name: str) -> PlannedDaemon:
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

    def _scheduler(self, name: str) -> PlannedDaemon:
        own = {"scheduler_database": self._data(_SCHEDULER)}
        return self._daemon(name, "roost-scheduler", topic="scheduler", own=own)

    def _super_conductor(self, name: str) -> PlannedDaemon:
        own = {"api_database": self._data(API_LEVEL)}
        return self._daemon(name, "roost-super-conductor", topic="super-conductor", own=own)

    def _api(self) -> PlannedDaemon:
        own: Options = {
            "api_database": self._data(API_LEVEL),
            "api": {
                "listen": "127.0.0.1",
                "port": self.api_port or self.port,
                "auth_strategy": "noauth",
            },
            "oslo_middleware": {"enable_proxy_headers_parsing": self.api_port is not None},
            "quota": dict.fromkeys(_QUOTAS, NO_LIMIT),
            "image": {"local_path": str(self.images)},
        }
        if self.console_endpoint:
            own = {**own, "consoles": of_consoles(self.console_endpoint)}
        return self._daemon("api", "roost-api", topic=None, own=own)

    def _metadata(self) -> PlannedDaemon:
        own: Options = {
            "api_database": self._data(API_LEVEL),
            "metadata": {
                "listen": "127.0.0.1",
                "port": self.metadata_port,
                "shared_secret": self.metadata_secret,
            },
        }
        return self._daemon(METADATA, "roost-metadata", topic=None, own=own)

    def _cell(self, cell: str) -> list[PlannedDaemon]:
        data = {"cell_database": self._data(cell)}
        conductors = [
            self._daemon(name, "roost-cell-conductor", topic="cell-conductor", cell=cell, own=data)
            for name in self._copies_of(f"{cell}-conductor")
        ]
        return [*conductors, *(self._led(self._host(cell, one)) for one in self.hosts_of(cell))]

    def _host(self, cell: str, host: str) -> PlannedDaemon:
        inventory = {"inventory_file": str(self.inventory_file)} if self.inventory else {}
        own: Options = {"fake_driver": {"faults_file": str(self.faults_file), **inventory}}
        if self.real:
            own = of_host(
                self.network.address(self.all_hosts.index(host)),
                said=self.overrides,
                metadata_url=self.metadata_endpoint,
                secret=self.metadata_secret,
            )
        own = {**own, "image": {"local_path": str(self.images)}}
        return self._daemon(host, "roost-compute", topic="compute", cell=cell, own=own, user=host)

    def _led(self, host: PlannedDaemon) -> PlannedDaemon:
        """Return a compute that reaches the broker, and this machine, from where it runs."""
        if not self.real:
            return host
        led = self.network.led(host.options, broker=urlsplit(self.bus).hostname)
        return dataclasses.replace(host, options=led)

    def _consoleproxy(self) -> PlannedDaemon:
        own = {"api_database": self._data(API_LEVEL), "console_proxy": of_proxy(self.console_port)}
        proxy = self._daemon(CONSOLES, "roost-consoleproxy", topic=None, own=own)
        threads: Options = {"DEFAULT": {"concurrency": concurrency.THREADING}}  # it has no other
        return dataclasses.replace(proxy, options=merged(proxy.options, threads))

    def _daemon(
        self,
        name: str,
        program: str,
        *,
        topic: str | None,
        own: Options,
        cell: str | None = None,
        user: str | None = None,
    ) -> PlannedDaemon:
        common: Options = {
            "DEFAULT": {
                "host": name,
                "transport_url": self.bus_url(cell or API_LEVEL, as_=user),
                "state_path": str(self.state / "var" / name),
                "rpc_threads": THREADS,
                **_HEARTBEATS,
            },
            "bus": {"api_users": self.bus_user(API_LEVEL)},
            **(OF_ALL if self.real else {}),
        }
        if cell:
            schedulers = self.bus_url(API_LEVEL, as_=user or cell)
            common = merged(common, {"scheduler": {"transport_url": schedulers}})
        options = merged(merged(common, own), self._said)
        return PlannedDaemon(name=name, program=program, topic=topic, cell=cell, options=options)

    def save(self) -> None:
        """Write the plan, and each daemon's configuration file, into the rig's folder."""
        for folder in ("etc", "log", "db", "images", "var"):
            (self.state / folder).mkdir(parents=True, exist_ok=True)
        text = json.dumps(dataclasses.asdict(self), indent=2, default=str)
        write_secret(self.state / _FILE, text + "\n")
        if self.inventory:
            self.inventory_file.write_text(json.dumps(self.inventory, indent=2) + "\n")
        for daemon in self.daemons:
            write_secret(self.config_file(daemon.name), config_text(daemon.options))
        write_secret(self.config_file("manage"), config_text(self.operator))
        write_secret(self.config_file("owner"), config_text(self.owner))

    @classmethod
    def load(cls, state: pathlib.Path) -> Self:
        """Read the plan of the rig in a folder.

        :raises roost.exception.NotFound: when there is none
        """
        try:
            values = json.loads((state / _FILE).read_text())
        except FileNotFoundError:
            raise exception.NotFound(
                f"there is no rig in {state}; start one with: roost-rig up --state {state}"
            ) from None
        folders = {name: pathlib.Path(values[name]) for name in ("state", "cache")}
        return cls(**{**values, **folders, "openstack": Openstack(**values["openstack"])})


def new_plan(
    state: pathlib.Path,
    *,
    port: int | None = None,
    any_ports: bool = False,
    metadata: bool = False,
    consoles: bool = False,
    proxy: bool = False,
    beside: Sequence[str] = (),
    **values: Any,
) -> Plan:
    """Plan a rig in a folder, on usual ports where these are free, unless one is named.

    :param any_ports: leave the usual ones to others, who may start at the same time
    :param metadata: let guests be told of themselves, too
    :param consoles: let browsers reach consoles of guests, too
    :param proxy: put HAProxy before the API
    :param beside: which OpenStack services run beside Roost
    :raises roost.exception.Invalid: when its inventory names hosts that it does not have
    """
    name = uuid.uuid4().hex[:8]
    choose = (lambda _usual: free_port()) if any_ports else free_port
    if metadata:
        is_real = values.get("driver") == LIBVIRT  # its guests ask at another address
        values["metadata_port"] = choose(None if is_real else _METADATA_PORT)
        values["metadata_secret"] = secrets.token_urlsafe(24)
    if consoles:
        values["console_port"] = choose(_CONSOLE_PORT)
    if proxy:
        values["api_port"] = free_port()
    if values.get("driver") == LIBVIRT:
        values["subnet"] = free_subnet()
    values["openstack"] = new_openstack(beside, choose)
    plan = Plan(rig=name, state=state.resolve(), port=port or choose(_PORT), **values)
    strangers = sorted({*plan.inventory} - {*plan.all_hosts, ALL_OTHERS})
    if strangers:
        raise exception.Invalid(
            f"the inventory names {', '.join(strangers)}, but the hosts are"
            f" {', '.join(plan.all_hosts)} ({ALL_OTHERS}: all others)"
        )
    return plan


def _login(parts: SplitResult, user: str, password: str) -> SplitResult:
    server = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=f"{user}:{password}@{server}")
