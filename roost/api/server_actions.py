"""What is done to a server that is there: one action by its name, each in a module of its kind."""

from collections.abc import Callable, Mapping
from typing import Final

from roost import exception
from roost.api import (
    gone,
    policies,
    server_admin_password,
    server_console,
    server_consoles,
    server_locks,
    server_network_info,
    server_power,
    server_rescue,
    server_reset,
)
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.schemas.server_actions import ACTION, KNOWN, LACKING
from roost.api.server_addresses import ServerAddresses
from roost.api.server_delete import ServerDelete
from roost.api.server_put_away import ServerPutAway
from roost.api.server_rebuild import ServerRebuild
from roost.api.server_rescue import ServerRescue
from roost.api.server_security_groups import ServerSecurityGroups
from roost.api.server_snapshot import ServerSnapshot
from roost.api.whereabouts import Located, Whereabouts

Act = Callable[[Call, Located], Answer]
_ACTIONS: Final[Mapping[str, Act]] = {
    **server_power.ACTIONS,
    "unrescue": server_rescue.unrescue,
    "changePassword": server_admin_password.change,
    "os-resetState": server_reset.reset,
    "injectNetworkInfo": server_network_info.inject,
}
_DESPITE_LOCKS: Final = (
    *("createImage", "createBackup"),
    "lock",
    "unlock",
    "os-resetState",
    "os-getConsoleOutput",
    *server_consoles.PROTOCOLS,
)


class ServerActions:
    """Handler of ``/servers/{id}/action``."""

    def __init__(self, parts: Parts) -> None:
        self._whereabouts = Whereabouts(parts.api_database, parts.cells)
        snapshots, groups = ServerSnapshot(parts), ServerSecurityGroups(parts)
        self._actions: dict[str, Act] = {
            **_ACTIONS,
            "os-getConsoleOutput": server_console.ConsoleLog(parts),
            **server_consoles.RemoteConsoles(parts).actions,
            **ServerAddresses(parts).actions,
            **server_locks.ServerLocks(parts).actions,
            "rebuild": ServerRebuild(parts),
            "rescue": ServerRescue(parts),
            "createImage": snapshots.create_image,
            "createBackup": snapshots.create_backup,
            "addSecurityGroup": groups.add,
            "removeSecurityGroup": groups.remove,
            "forceDelete": ServerDelete(parts).force,
            "restore": ServerPutAway(parts),
        }

    def act(self, call: Call) -> Answer:
        """Do the one thing that the body names, if the caller may."""
        located = self._whereabouts.find(call, call.params["server_id"])
        (name,) = call.body
        gone.refuse_action(name)
        _refuse_unknown(call, name)
        _require(call, policies.servers.ACTIONS[name], located)
        if name not in _DESPITE_LOCKS:
            server_locks.refuse(call, located.instance)
        return self._actions[name](call, located)


def _refuse_unknown(call: Call, name: str) -> None:
    """Raise unless there is such an action in the call's microversion.

    :raises roost.exception.Unsupported: when Compute has it there, and this cloud does not
    :raises roost.exception.NotFound: when it is there in other microversions
    :raises roost.exception.Invalid: when there is none
    """
    if call.version >= LACKING.get(name, call.version + 1):
        raise exception.Unsupported(f"This cloud cannot do that to its servers: {name}")
    if name in ACTION.document(call.version)["properties"]:
        return
    if name in KNOWN:
        raise exception.NotFound(f"There is no action {name} in version 2.{call.version}.")
    raise exception.Invalid(f"There is no such action: {name}")


def _require(call: Call, rule: str, located: Located) -> None:
    """Raise :class:`roost.exception.Forbidden` unless the caller may do this to that server."""
    if not call.allows(rule, project_id=located.instance.project_id):
        raise exception.Forbidden(f"Policy doesn't allow {rule} to be performed.")
