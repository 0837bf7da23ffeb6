"""The console log of a server, and remote consoles (VNC, SPICE, serial) that users type at.

The API requests the log from the server's host, with a timeout. For a remote console users get a
URL with a token, of which only the digest is stored; ``os-console-auth-tokens`` shows proxies the
location that a token is for.
"""

import datetime
import re
import urllib.parse
from collections.abc import Mapping
from typing import Any, Final

from roost import exception
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerLocator, ServerRef
from roost.api.policy import ADMIN, MEMBER, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.servers import policies
from roost.api.servers.host_calls import ServerHosts
from roost.api.servers.server_action import ServerAction, action
from roost.api.validation import EVER, MAX_INTEGER, Document, grown, of, wrapped
from roost.db import clock
from roost.db.api import console_tokens
from roost.db.api.console_tokens import ConsoleToken
from roost.db.engine import retried
from roost.objects import consoles

CREATE_POLICY = Rule("os_compute_api:os-remote-consoles", MEMBER, "Use the console of a server.")
_PROTOCOLS: Final = ("vnc", "spice", "rdp", "serial")
_TYPES: Final = ("novnc", "xvpvnc", "rdp-html5", "spice-html5", "serial")
_MKS: Final = ("webmks",)
_DIRECT: Final = ("spice-direct",)


def _kind_of(*values: str) -> Document:
    """Return the schema of an enumeration."""
    return {"type": "string", "enum": [*values]}


# First and last microversion, property and its schema.
_CREATE: Final[tuple[tuple[int, int, str, Document], ...]] = (
    (6, 7, "protocol", _kind_of(*_PROTOCOLS)),
    (6, 7, "type", _kind_of(*_TYPES)),
    (8, EVER, "protocol", _kind_of(*_PROTOCOLS, "mks")),
    (8, 98, "type", _kind_of(*_TYPES, *_MKS)),
    (99, EVER, "type", _kind_of(*_TYPES, *_MKS, *_DIRECT)),
)


def _console(_minor: int, found: dict[str, Any]) -> Document:
    return wrapped("remote_console", of(found, required=["protocol", "type"]))


CREATE: Final = grown(_CREATE, _console)


_TLS_PORT_SINCE: Final = 99


def remote_console(protocol: str, type_: str, url: str) -> dict[str, Any]:
    return {"remote_console": {"protocol": protocol, "type": type_, "url": url}}


def console(type_: str, url: str) -> dict[str, Any]:
    """Return the same, in the format of the actions until 2.5."""
    return {"console": {"type": type_, "url": url}}


def url(base: str, kind: str, token: str) -> str:
    """Return the URL of a console.

    noVNC and SPICE pages get the path that they request from the proxy; the token is part of it.
    """
    asked = f"token={token}"
    if kind in (consoles.VNC, consoles.SPICE):
        asked = urllib.parse.urlencode({"path": f"?{asked}"})
    return f"{base}{'&' if '?' in base else '?'}{asked}"


def connection(token: ConsoleToken, *, version: int) -> dict[str, Any]:
    """Return the location that a token is for; hosts have one port, and require the token there."""
    shown: dict[str, Any] = {
        "instance_uuid": token.instance_uuid,
        "host": token.host,
        "port": token.port,
        "internal_access_path": None,
    }
    return {"console": shown if version < _TLS_PORT_SINCE else shown | {"tls_port": None}}


_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f]")


class ConsoleLog:
    """The action ``os-getConsoleOutput``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._hosts = ServerHosts(dependencies)

    def __call__(self, call: Call, server_ref: ServerRef) -> Answer:
        """Show the last lines, without control characters.

        :raises roost.exception.Conflict: when the server is on no host
        :raises roost.exception.NotFound: when it has no console
        :raises roost.exception.Unsupported: when its hypervisor has no console log
        :raises roost.exception.Silent: when its host does not answer
        """
        with self._hosts.of(call, server_ref).answering() as host:
            text = host.get_console_output(
                call.context,
                instance_uuid=server_ref.instance.uuid,
                lines=_lines(call.body["os-getConsoleOutput"].get("length")),
            )
        return Answer({"output": _CONTROL.sub("", text)}, status=200)


def _lines(length: Any) -> int | None:
    if length is None or int(length) < 0:
        return None
    return int(length)


# Action -> protocol, before 2.6.
PROTOCOLS: Final = {
    "os-getVNCConsole": "vnc",
    "os-getSPICEConsole": "spice",
    "os-getRDPConsole": "rdp",
    "os-getSerialConsole": "serial",
}
# Type of a console in requests -> its kind. No hypervisor here supports any other.
KINDS: Final = {
    "novnc": consoles.VNC,
    "spice-html5": consoles.SPICE,
    "serial": consoles.SERIAL,
}


class RemoteConsoles:
    """Handler of ``/servers/{id}/remote-consoles``, and of the actions that it replaced."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._locator = ServerLocator(dependencies.api_database, dependencies.cells)
        self._hosts = ServerHosts(dependencies)
        self._database = dependencies.api_database
        self._options = dependencies.options

    def create(self, call: Call) -> Answer:
        """Authorize a token for a console; return its URL.

        :raises roost.exception.Conflict: when the server is on no host, or does not run
        :raises roost.exception.Invalid: when the protocol or the host has no such console
        :raises roost.exception.Unsupported: when the hypervisor does not support it
        :raises roost.exception.Silent: when its host does not answer
        """
        server_ref = self._locator.find(call, call.params["server_id"])
        asked = call.body["remote_console"]
        url = self._open(call, server_ref, protocol=asked["protocol"], type_=asked["type"])
        return Answer(remote_console(asked["protocol"], asked["type"], url))

    def act(self, call: Call, server_ref: ServerRef) -> Answer:
        """Do the same as an action; each protocol had one."""
        ((name, asked),) = call.body.items()
        url = self._open(call, server_ref, protocol=PROTOCOLS[name], type_=asked["type"])
        return Answer(console(asked["type"], url), status=200)

    def _open(self, call: Call, server_ref: ServerRef, *, protocol: str, type_: str) -> str:
        instance = server_ref.instance
        asked = self._hosts.of(call, server_ref)
        kind = _kind(protocol, type_)
        token = consoles.new_token()
        digest = consoles.digest(token)
        with asked.answering() as host:
            listener = host.open_console(
                call.context,
                instance_uuid=instance.uuid,
                kind=kind,
                token_digest=digest,
                seconds=self._options.console_seconds,
            )
        self._remember(digest, instance.uuid, kind=kind, listener=listener)
        return url(self._options.console_urls[kind], kind, token)

    @retried
    def _remember(
        self, digest: str, instance_uuid: str, *, kind: str, listener: Mapping[str, Any]
    ) -> None:
        lasting = datetime.timedelta(seconds=self._options.console_seconds)
        with self._database.begin() as session:
            token = ConsoleToken(
                digest=digest,
                instance_uuid=instance_uuid,
                kind=kind,
                host=listener["host"],
                port=listener["port"],
                expires_at=clock.now(session) + lasting,
            )
            console_tokens.create(session, token)


def _kind(protocol: str, type_: str) -> str:
    """Return the kind of the requested console, if it is supported."""
    kind = KINDS.get(type_)
    if kind is None:
        message = f"Unable to get {protocol} console, functionality not implemented"
        raise exception.Unsupported(message)
    if protocol != kind:
        raise exception.Invalid(f"Invalid console type {type_}: it is not one of {protocol}.")
    return kind


_ALL_SINCE: Final = 31


class ConsoleTokens:
    """Handler of ``/os-console-auth-tokens``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._database = dependencies.api_database

    def show(self, call: Call) -> Answer:
        """Show the location that a token is for; until 2.30 of RDP only, which no server here has.

        :raises roost.exception.Invalid: until 2.30
        :raises roost.exception.NotFound: when there is no such token, or it has expired
        """
        if call.version < _ALL_SINCE:
            raise exception.Invalid(
                "Until 2.30 only the tokens of RDP consoles are shown, which no server here has."
            )
        digest = consoles.digest(call.params["console_token"])
        with self._database.read() as session:
            found = console_tokens.find(session, digest, now=clock.now(session))
        if found is None:
            raise exception.NotFound("Token not found")
        return Answer(connection(found, version=call.version))


CONSOLES_ROUTES: Final[tuple[Route, ...]] = (
    row(
        "POST /v2.1/servers/{server_id}/remote-consoles",
        (RemoteConsoles, RemoteConsoles.create),
        CREATE_POLICY,
        checks=(policies.SHOW_HOST,),
        body=CREATE,
        since=6,
    ),
)


CONSOLE_TOKENS_ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/os-console-auth-tokens/{console_token}",
        (ConsoleTokens, ConsoleTokens.show),
        Rule(
            "os_compute_api:os-console-auth-tokens",
            ADMIN,
            "Show the location that the token of a console is for.",
        ),
    ),
)


_LAST_ACTIONS: Final = 5  # each kind of console had an action
_LINES: Final = {  # -1: all
    "type": ["integer", "string", "null"],
    "pattern": "^-?[0-9]{1,9}$",
    "minimum": -1,
    "maximum": MAX_INTEGER,
}


def _open(name: str, *types: str) -> ServerAction:
    return action(
        name,
        lambda dependencies: RemoteConsoles(dependencies).act,
        CREATE_POLICY,
        of({"type": _kind_of(*types)}, required=["type"]),
        until=_LAST_ACTIONS,
        despite_lock=True,
    )


ACTIONS: Final = (
    action(
        "os-getConsoleOutput",
        ConsoleLog,
        Rule(
            "os_compute_api:os-console-output",
            MEMBER,
            "Read what a server has written to its console.",
        ),
        of({"length": _LINES}),
        checks=(policies.SHOW_HOST,),
        despite_lock=True,
    ),
    _open("os-getVNCConsole", "novnc", "xvpvnc"),
    _open("os-getSPICEConsole", "spice-html5"),
    _open("os-getRDPConsole", "rdp-html5"),
    _open("os-getSerialConsole", "serial"),
)
