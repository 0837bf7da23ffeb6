"""Consoles that users type at: who may see one is told a URL, and a token in it opens it.

What a server has written to its console is another matter: ``server_console.py``.
"""

import datetime
from collections.abc import Callable, Mapping
from typing import Any, Final

from roost import consoles, exception
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.server_hosts import ServerHosts, heard
from roost.api.views import server_consoles as views
from roost.api.whereabouts import Located, Whereabouts
from roost.db import clock
from roost.db.api import console_tokens
from roost.db.api.console_tokens import ConsoleToken
from roost.db.engine import retried

# What an action is called -> the protocol, before 2.6.
PROTOCOLS: Final = {
    "os-getVNCConsole": "vnc",
    "os-getSPICEConsole": "spice",
    "os-getRDPConsole": "rdp",
    "os-getSerialConsole": "serial",
}
# What users call the type of a console -> its kind. No hypervisor here has any of the others.
KINDS: Final = {
    "novnc": consoles.VNC,
    "spice-html5": consoles.SPICE,
    "serial": consoles.SERIAL,
}


class RemoteConsoles:
    """Handler of ``/servers/{id}/remote-consoles``, and of the actions before it."""

    def __init__(self, parts: Parts) -> None:
        self._whereabouts = Whereabouts(parts.api_database, parts.cells)
        self._hosts = ServerHosts(parts)
        self._database = parts.api_database
        self._options = parts.options

    def create(self, call: Call) -> Answer:
        """Let the caller come to a console; tell where.

        :raises roost.exception.Conflict: when the server is on no host, or does not run
        :raises roost.exception.Invalid: when there is no such console of that protocol, or host
        :raises roost.exception.Unsupported: when no hypervisor has it, or this one has none
        :raises roost.exception.Timeout: when its host does not answer
        """
        located = self._whereabouts.find(call, call.params["server_id"])
        asked = call.body["remote_console"]
        url = self._open(call, located, protocol=asked["protocol"], type_=asked["type"])
        return Answer(views.remote_console(asked["protocol"], asked["type"], url))

    def act(self, call: Call, located: Located) -> Answer:
        """Do the same, as an action: each protocol had one."""
        ((name, asked),) = call.body.items()
        url = self._open(call, located, protocol=PROTOCOLS[name], type_=asked["type"])
        return Answer(views.console(asked["type"], url), status=200)

    def _open(self, call: Call, located: Located, *, protocol: str, type_: str) -> str:
        instance = located.instance
        host = self._hosts.of(located)
        kind = _kind(protocol, type_)
        token = consoles.new_token()
        digest = consoles.digest(token)
        with heard(call, instance):
            door = host.open_console(
                call.context,
                instance_uuid=instance.uuid,
                kind=kind,
                token_digest=digest,
                seconds=self._options.console_seconds,
            )
        self._remember(digest, instance.uuid, kind=kind, door=door)
        return views.url(self._options.console_urls[kind], kind, token)

    @property
    def actions(self) -> dict[str, Callable[[Call, Located], Answer]]:
        """What each action is done by."""
        return dict.fromkeys(PROTOCOLS, self.act)

    @retried
    def _remember(
        self, digest: str, instance_uuid: str, *, kind: str, door: Mapping[str, Any]
    ) -> None:
        lasting = datetime.timedelta(seconds=self._options.console_seconds)
        with self._database.begin() as session:
            token = ConsoleToken(
                digest=digest,
                instance_uuid=instance_uuid,
                kind=kind,
                host=door["host"],
                port=door["port"],
                expires_at=clock.now(session) + lasting,
            )
            console_tokens.create(session, token)


def _kind(protocol: str, type_: str) -> str:
    """Return the kind of console that is asked for, if there is any of it."""
    kind = KINDS.get(type_)
    if kind is None:
        message = f"Unable to get {protocol} console, functionality not implemented"
        raise exception.Unsupported(message)
    if protocol != kind:
        raise exception.Invalid(f"Invalid console type {type_}: it is not one of {protocol}.")
    return kind
