"""Consoles with a screen: no hypervisor here has any to show, which is said as it is documented.

What a server has written to its console is another matter: ``server_console.py``.
"""

from typing import Final, NoReturn

from roost import exception
from roost.api.call import Call
from roost.api.parts import Parts
from roost.api.whereabouts import Located, Whereabouts

# What an action is called -> the kind of console, before 2.6.
_KINDS: Final = {
    "os-getVNCConsole": "vnc",
    "os-getSPICEConsole": "spice",
    "os-getRDPConsole": "rdp",
    "os-getSerialConsole": "serial",
}


class RemoteConsoles:
    """Handler of ``/servers/{id}/remote-consoles``."""

    def __init__(self, parts: Parts) -> None:
        self._whereabouts = Whereabouts(parts.api_database, parts.cells)

    def create(self, call: Call) -> NoReturn:
        """Refuse, once it is clear that there is such a server.

        :raises roost.exception.Conflict: when the server is on no host
        :raises roost.exception.Unsupported: always else
        """
        located = self._whereabouts.find(call, call.params["server_id"])
        _refuse(located, call.body["remote_console"]["protocol"])


def get(call: Call, located: Located) -> NoReturn:
    """Refuse in the same way, as an action."""
    (name,) = call.body
    _refuse(located, _KINDS[name])


ACTIONS: Final = dict.fromkeys(_KINDS, get)


def _refuse(located: Located, kind: str) -> NoReturn:
    if located.cell is None or located.instance.host is None:
        raise exception.Conflict(f"Instance {located.instance.uuid} is not ready")
    raise exception.Unsupported(f"Unable to get {kind} console, functionality not implemented")
