"""RabbitMQ, found or started, and its virtual hosts."""

import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import urllib.parse
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Protocol, Self

import kombu
import requests
from kombu import exceptions as kombu_exceptions

from roost import exception
from roost.rig.services.private import (
    LOOPBACK,
    Private,
    PrivateService,
    ServiceAddress,
    free_port,
    is_free,
    program,
)

_FOLDER = "/usr/lib/rabbitmq/bin"
_PACKAGE = "rabbitmq-server"
_COMMAND_SECONDS = 60
_TO_MANAGEMENT = 10000  # as far as RabbitMQ's own defaults, 5672 and 15672, are apart
# Threads that have nothing to do sleep, rather than look busily for work: others need the machine.
_THRIFTY = "+sbwt none +sbwtdcpu none +sbwtdio none"
_SCHEMES = ("amqp", "rabbit")
_FAILURES = (OSError, kombu_exceptions.KombuError)


@dataclasses.dataclass(frozen=True)
class Queue:
    """A queue, how many messages are in it (taken but not acknowledged ones, too), who listens."""

    name: str
    messages: int
    consumers: int


@dataclasses.dataclass(frozen=True)
class Rights:
    """What a user may do on a virtual host: regular expressions of names, as RabbitMQ has them.

    :param configure: which exchanges and queues may be declared (and deleted)
    :param write: which exchanges may be published to, which queues may be bound
    :param read: which queues may be listened to, which exchanges may be bound to
    :param topics: with which routing keys, by topic exchange, may be published; an exchange that is
        not named: with any
    :param bindings: with which routing keys queues may be bound to those; none by default
    """

    user: str
    vhost: str
    configure: str = ".*"
    write: str = ".*"
    read: str = ".*"
    topics: Mapping[str, str] = dataclasses.field(default_factory=dict)
    bindings: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Cluster:
    """What the nodes of one cluster have in common.

    :param cookie: the secret by which they know each other
    :param epmd_port: of their port mapper, which the first one keeps
    :param nodes: their names, like ``b1@localhost``
    """

    cookie: str
    epmd_port: int
    nodes: Sequence[str]


class Administration(Protocol):
    """A way to make virtual hosts and users, and remove them."""

    def check(self) -> None:
        """Raise :class:`roost.exception.Unavailable` when this way is closed."""

    def create_vhost(self, name: str, *, user: str) -> None: ...

    def delete_vhost(self, name: str) -> None:
        """Remove it; one that is gone already is no error."""

    def define(self, definitions: Mapping[str, Any]) -> None:
        """Make all that definitions name, in the form in which RabbitMQ exports them."""

    def delete_users(self, names: Sequence[str]) -> None:
        """Remove them; one that is gone already is no error."""

    def list_queues(self, vhost: str) -> list[Queue]: ...


class RabbitMQ(PrivateService):
    """A RabbitMQ node on which virtual hosts can be made."""

    kind: ClassVar[str] = "rabbitmq"
    usual: ClassVar[ServiceAddress] = ServiceAddress(LOOPBACK, 5672, "guest", "guest")

    def __init__(
        self,
        address: ServiceAddress,
        private: Private | None = None,
        *,
        administration: Administration,
    ) -> None:
        super().__init__(address, private)
        self._administration = administration

    @classmethod
    def find(cls) -> Self:
        """Return the node at its usual place.

        :raises roost.exception.Unavailable: when nobody is there, does not let us in or does not
            let us make virtual hosts
        """
        address = _named("ROOST_TEST_RABBITMQ") or cls.usual
        _log_in(address)
        return cls(address, administration=_open_way(address))

    @classmethod
    def at(cls, url: str) -> Self:
        """Return the node that a URL names; without a port it is the usual one.

        :raises roost.exception.Invalid: when the URL names no host or no user, or no RabbitMQ
        :raises roost.exception.Unavailable: as :meth:`find` does
        """
        if urllib.parse.urlsplit(url).scheme not in _SCHEMES:
            raise exception.Invalid(f"--bus must begin with one of {', '.join(_SCHEMES)}")
        address = _address(url, said="--bus")
        _log_in(address)
        return cls(address, administration=_open_way(address))

    @classmethod
    def start(
        cls, state_dir: pathlib.Path, *, cluster: Cluster | None = None, node: str | None = None
    ) -> Self:
        """Start a private node, or take up the one that was started from ``state_dir``.

        It has ports, names, cookie and folders of its own, and a port mapper (epmd) too: that of
        another node would be shared, and would outlive ours.

        :param cluster: of which it is ``node``; it waits for the others, so start all at once
        """
        server = program("rabbitmq-server", _FOLDER, package=_PACKAGE)
        ctl = program("rabbitmqctl", _FOLDER, package=_PACKAGE)
        epmd = program("epmd", package=_PACKAGE)
        private = Private(cls.kind, state_dir, account="rabbitmq")
        if not private.running():
            _prepare(private, cluster, node)
            environment = _environment(private)
            if cluster is None or node == cluster.nodes[0]:
                private.spawn([epmd, "-address", LOOPBACK, "-port", environment["ERL_EPMD_PORT"]])
            private.spawn([server], environment)
        address = ServiceAddress(LOOPBACK, private.details["port"], "guest", "guest")
        private.wait_until(lambda: _log_in(address), seconds=120)
        way = Ctl([ctl], port=address.port, environment=_environment(private), private=private)
        return cls(address, private, administration=way)

    def url(self, vhost: str) -> str:
        """Return the transport URL of a virtual host."""
        return _url(self.address, vhost, scheme="rabbit")

    def create_vhost(self, name: str) -> str:
        """Make an empty virtual host and return its transport URL."""
        self._administration.create_vhost(name, user=self.address.user)
        return self.url(name)

    def delete_vhost(self, name: str) -> None:
        """Remove a virtual host with all that is in it, whoever is connected."""
        self._administration.delete_vhost(name)

    def allow(self, passwords: Mapping[str, str], rights: Sequence[Rights]) -> None:
        """Make users with these passwords, and the virtual hosts on which they get rights.

        In one go, and it may be repeated. We have all rights there, too.
        """
        self._administration.define(_definitions(passwords, rights, us=self.address.user))

    def delete_users(self, names: Sequence[str]) -> None:
        """Remove users; one that is gone already is no error."""
        self._administration.delete_users(names)

    def check(self) -> None:
        """Make sure that the node lets us in.

        :raises roost.exception.Unavailable: when it does not
        """
        _log_in(self.address)

    def forget(self) -> None:
        """Remove all that a halted private node keeps: virtual hosts, users, queues, messages."""
        shutil.rmtree(self._ours().folder / "data", ignore_errors=True)

    def list_queues(self, vhost: str) -> list[Queue]:
        """Return the queues of a virtual host.

        :raises roost.exception.Unavailable: when the node does not tell
        """
        return self._administration.list_queues(vhost)


class Ctl:
    """Administration by ``rabbitmqctl``, for those who may read the node's cookie."""

    def __init__(
        self,
        command: list[str],
        *,
        port: int,
        environment: Mapping[str, str] | None = None,
        private: Private | None = None,
    ) -> None:
        self._command = command
        self._port = port
        self._environment = private.environment(environment or {}) if private else None
        self._account = private.account_arguments() if private else {}

    def check(self) -> None:
        if os.geteuid() != 0 and self._environment is None:
            raise exception.Unavailable("only root may use rabbitmqctl")
        status = json.loads(self._run("status", "--formatter", "json"))
        if self._port not in [listener["port"] for listener in status["listeners"]]:
            raise exception.Unavailable(f"rabbitmqctl's node does not listen on {self._port}")

    def create_vhost(self, name: str, *, user: str) -> None:
        self.define(_definitions({}, [Rights(user, name)], us=user))

    def delete_vhost(self, name: str) -> None:
        try:
            self._run("delete_vhost", name)
        except exception.Unavailable as error:
            if "does not exist" not in error.message:
                raise

    def define(self, definitions: Mapping[str, Any]) -> None:
        self._run("import_definitions", given=json.dumps(definitions))

    def delete_users(self, names: Sequence[str]) -> None:
        """All in one go: ``rabbitmqctl delete_user`` would take a second for each."""
        users, given = "rabbit_auth_backend_internal", ", ".join(f'<<"{name}">>' for name in names)
        delete, known = f'{users}:delete_user(U, <<"roost">>)', f"{users}:lookup_user(U)"
        self._run("eval", f"[{delete} || U <- [{given}], {{ok, _}} <- [{known}]], ok.")

    def list_queues(self, vhost: str) -> list[Queue]:
        wanted = ["name", "messages", "consumers"]
        told = self._run("list_queues", "--vhost", vhost, "--formatter", "json", *wanted)
        return [_queue(values) for values in json.loads(told)]

    def _run(self, *arguments: str, given: str | None = None) -> str:
        try:
            done = subprocess.run(
                [*self._command, "--quiet", *arguments],
                env=self._environment,
                input=given,
                capture_output=True,
                text=True,
                timeout=_COMMAND_SECONDS,
                check=False,
                cwd="/",
                **self._account,
            )
        except (FileNotFoundError, subprocess.TimeoutExpired) as error:
            raise exception.Unavailable(f"rabbitmqctl: {error}") from error
        if done.returncode != 0:
            said = (done.stderr or done.stdout).strip()
            raise exception.Unavailable(f"rabbitmqctl {arguments[0]} failed: {said}")
        return str(done.stdout)


class Management:
    """Administration by the HTTP interface of RabbitMQ's management plug-in."""

    def __init__(self, address: ServiceAddress) -> None:
        self._url = f"http://{address.host}:{address.port + _TO_MANAGEMENT}/api"
        self._login = (address.user, address.password)

    def check(self) -> None:
        self._ask("GET", "vhosts")

    def create_vhost(self, name: str, *, user: str) -> None:
        self._ask("PUT", f"vhosts/{_quoted(name)}")
        everything = {"configure": ".*", "write": ".*", "read": ".*"}
        self._ask("PUT", f"permissions/{_quoted(name)}/{_quoted(user)}", body=everything)

    def delete_vhost(self, name: str) -> None:
        self._ask("DELETE", f"vhosts/{_quoted(name)}", gone_is_fine=True)

    def define(self, definitions: Mapping[str, Any]) -> None:
        self._ask("POST", "definitions", body=definitions)

    def delete_users(self, names: Sequence[str]) -> None:
        for name in names:
            self._ask("DELETE", f"users/{_quoted(name)}", gone_is_fine=True)

    def list_queues(self, vhost: str) -> list[Queue]:
        told = self._ask("GET", f"queues/{_quoted(vhost)}").json()
        return [_queue(values) for values in told]

    def _ask(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        gone_is_fine: bool = False,
    ) -> requests.Response:
        url = f"{self._url}/{path}"
        try:
            answer = requests.request(method, url, json=body, auth=self._login, timeout=30)
            if not (gone_is_fine and answer.status_code == requests.codes.not_found):
                answer.raise_for_status()
        except requests.ConnectionError as error:
            message = f"the management interface on {self._url} does not answer"
            raise exception.Unavailable(message) from error
        except requests.RequestException as error:
            raise exception.Unavailable(f"the management interface: {error}") from error
        return answer


def _definitions(
    passwords: Mapping[str, str], rights: Sequence[Rights], *, us: str
) -> dict[str, list[dict[str, Any]]]:
    vhosts = list(dict.fromkeys(right.vhost for right in rights))
    every = [*(Rights(us, vhost) for vhost in vhosts), *(one for one in rights if one.user != us)]
    return {
        "users": [
            {"name": name, "password": password, "tags": []} for name, password in passwords.items()
        ],
        "vhosts": [{"name": vhost} for vhost in vhosts],
        "permissions": [_permission(each) for each in every],
        "topic_permissions": [topic for each in rights for topic in _topic_permissions(each)],
    }


def _permission(rights: Rights) -> dict[str, Any]:
    allowed = {"configure": rights.configure, "write": rights.write, "read": rights.read}
    return {"user": rights.user, "vhost": rights.vhost, **allowed}


def _topic_permissions(rights: Rights) -> Iterator[dict[str, Any]]:
    """Whom topics are told may bind queues to none of them, unless told so."""
    for exchange, keys in rights.topics.items():
        allowed = {"exchange": exchange, "write": keys, "read": rights.bindings.get(exchange, "^$")}
        yield {"user": rights.user, "vhost": rights.vhost, **allowed}


def _queue(values: Mapping[str, Any]) -> Queue:
    """A queue of which the node has no counts yet has none."""
    return Queue(values["name"], values.get("messages", 0), values.get("consumers", 0))


def _open_way(address: ServiceAddress) -> Administration:
    """Choose how to make virtual hosts on a node that is not ours."""
    ways: list[Administration] = [Management(address), Ctl(["rabbitmqctl"], port=address.port)]
    closed = []
    for way in ways:
        try:
            way.check()
        except exception.Unavailable as error:
            closed.append(error.message)
        else:
            return way
    raise exception.Unavailable(
        f"RabbitMQ on {address.host}:{address.port} lets nobody here make virtual hosts"
        f" ({'; '.join(closed)})"
    )


def _log_in(address: ServiceAddress) -> None:
    make: Any = kombu.Connection  # type: ignore[attr-defined]
    connection = make(_url(address, "/", scheme="amqp"), connect_timeout=5)
    try:
        connection.connect()
    except (*_FAILURES, *connection.connection_errors, *connection.channel_errors) as error:
        raise exception.Unavailable(
            f"RabbitMQ on {address.host}:{address.port} does not let us in: {error}"
        ) from error
    finally:
        connection.release()


def _prepare(private: Private, cluster: Cluster | None, node: str | None) -> None:
    port = _port_with_management()
    folder = private.make_folder(
        port=port,
        distribution_port=free_port(),
        epmd_port=cluster.epmd_port if cluster else free_port(),
        node=node or f"roost-{uuid.uuid4().hex[:8]}@localhost",
    )
    config = [
        f"listeners.tcp.1 = {LOOPBACK}:{port}",
        f"management.tcp.ip = {LOOPBACK}",
        f"management.tcp.port = {port + _TO_MANAGEMENT}",
        "disk_free_limit.absolute = 50MB",
        "log.console = true",
        "log.file = false",
        *_joining(cluster),
    ]
    if cluster is not None:
        private.write_secret(".erlang.cookie", cluster.cookie)
    (folder / "rabbitmq.conf").write_text("\n".join(config) + "\n")
    plugins = "" if cluster else "rabbitmq_management"
    (folder / "enabled_plugins").write_text(f"[{plugins}].\n")


def _joining(cluster: Cluster | None) -> Iterator[str]:
    """Yield what makes a node join the others, and wait for them rather than run without."""
    if cluster is not None:
        yield "cluster_formation.peer_discovery_backend = classic_config"
        yield "cluster_partition_handling = pause_minority"
        for number, name in enumerate(cluster.nodes, start=1):
            yield f"cluster_formation.classic_config.nodes.{number} = {name}"


def _port_with_management() -> int:
    """Return a free port whose management interface has one, too."""
    while True:
        port = free_port()
        if port + _TO_MANAGEMENT < 2**16 and is_free(port + _TO_MANAGEMENT):
            return port


def _environment(private: Private) -> dict[str, str]:
    folder, details = private.folder, private.details
    return {
        "ERL_EPMD_PORT": str(details["epmd_port"]),
        "ERL_EPMD_ADDRESS": LOOPBACK,
        "RABBITMQ_NODENAME": details["node"],
        "RABBITMQ_NODE_PORT": str(details["port"]),
        "RABBITMQ_NODE_IP_ADDRESS": LOOPBACK,
        "RABBITMQ_DIST_PORT": str(details["distribution_port"]),
        "RABBITMQ_CONF_ENV_FILE": str(folder / "none"),
        "RABBITMQ_CONFIG_FILE": str(folder / "rabbitmq.conf"),
        "RABBITMQ_ADVANCED_CONFIG_FILE": str(folder / "none"),
        "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "enabled_plugins"),
        "RABBITMQ_MNESIA_BASE": str(folder / "data"),
        "RABBITMQ_LOG_BASE": str(folder / "log"),
        "RABBITMQ_PID_FILE": str(folder / "pid"),
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": _THRIFTY,
    }


def _named(variable: str) -> ServiceAddress | None:
    url = os.environ.get(variable)
    return _address(url, said=variable) if url else None


def _address(text: str, *, said: str) -> ServiceAddress:
    try:
        url = urllib.parse.urlsplit(text)
        port = url.port or RabbitMQ.usual.port
    except ValueError as error:
        raise exception.Invalid(f"{said}: {error}") from error
    if not (url.hostname and url.username):
        raise exception.Invalid(f"{said} must be like amqp://user:password@host:5672")
    password = urllib.parse.unquote(url.password or "")
    return ServiceAddress(url.hostname, port, urllib.parse.unquote(url.username), password)


def _url(address: ServiceAddress, vhost: str, *, scheme: str) -> str:
    login = f"{_quoted(address.user)}:{_quoted(address.password)}"
    return f"{scheme}://{login}@{address.host}:{address.port}/{_quoted(vhost)}"


def _quoted(text: str) -> str:
    return urllib.parse.quote(text, safe="")
