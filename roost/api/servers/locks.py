"""Locks: users protect servers from themselves, administrators from users.

Most actions on a locked server are for administrators only. A caller of its project locks it as its
owner, and may unlock it again; to unlock a lock of another caller, a policy of its own is needed.
The lock is only in the cell's row.
"""

from collections.abc import Mapping
from typing import Any, Final

from roost import exception
from roost.api.locator import ServerRef, missing
from roost.api.policy import ADMIN, MEMBER, Rule
from roost.api.request import Answer, Call
from roost.api.servers import operations
from roost.api.servers.server_action import action, plain
from roost.api.validation import Schema, of
from roost.cells import Cell
from roost.db.cell import actions, instances
from roost.db.engine import retried
from roost.objects import Instance, InstanceAction

_OVERRIDE = Rule(
    "os_compute_api:os-lock-server:unlock:unlock_override",
    ADMIN,
    "Unlock a server that another caller has locked.",
)
OWNER: Final = "owner"
OTHER: Final = "admin"
_ADMIN: Final = "admin_api"
_REASON_SINCE: Final = 73


def refuse(call: Call, instance: Instance) -> None:
    """Raise :class:`roost.exception.Conflict` if the server is locked for this caller."""
    if instance.locked and not call.allows(_ADMIN):
        raise exception.Conflict(f"Instance {instance.uuid} is locked")


def lock(call: Call, server_ref: ServerRef) -> Answer:
    """Lock a server. An owner's lock does not replace an existing lock."""
    instance, cell = server_ref.instance, _cell(server_ref)
    who = _who(call, instance)
    changes = {"locked": True, "locked_by": who, "locked_reason": _reason(call)}
    expected = {"locked": False} if who == OWNER else {}
    _write(cell, operations.done(call, str(instance.uuid), "lock"), changes, expected)
    return Answer()


def unlock(call: Call, server_ref: ServerRef) -> Answer:
    """Unlock a server.

    :raises roost.exception.Forbidden: when another caller has locked it, and the policy forbids it
    """
    instance, cell = server_ref.instance, _cell(server_ref)
    uuid = str(instance.uuid)
    theirs = instance.locked_by not in (None, _who(call, instance))
    if theirs and not call.allows(_OVERRIDE, project_id=instance.project_id):
        raise exception.Forbidden(f"Policy doesn't allow {_OVERRIDE} to be performed.")
    changes = {"locked": False, "locked_by": None, "locked_reason": None}
    expected = {"locked_by": (instance.locked_by, None)}
    if not _write(cell, operations.done(call, uuid, "unlock"), changes, expected):
        raise exception.Conflict(f"Instance {uuid} was locked again meanwhile")
    return Answer()


@retried
def _write(
    cell: Cell, record: InstanceAction, changes: Mapping[str, Any], expected: Mapping[str, Any]
) -> bool:
    """Change the lock, and return whether it was as expected."""
    with cell.database.begin() as session:
        try:
            instances.update(session, record.instance_uuid, changes, expected=expected)
        except exception.NotFound as error:
            raise missing(record.instance_uuid) from error
        except exception.Conflict:
            return False
        actions.start(session, record)
        return True


def _cell(server_ref: ServerRef) -> Cell:
    if server_ref.cell is None:
        raise exception.Conflict(
            f"Instance {server_ref.instance.uuid} is being scheduled; it can be locked or unlocked"
            " when it has a host."
        )
    return server_ref.cell


def _reason(call: Call) -> str | None:
    """Return the reason; before 2.73 there is none."""
    asked = call.body["lock"] if call.version >= _REASON_SINCE else None
    return None if asked is None else asked.get("locked_reason")


def _who(call: Call, instance: Instance) -> str:
    return OWNER if call.context.project_id == instance.project_id else OTHER


_REASON: Final = {"type": "string", "minLength": 1, "maxLength": 255}
_LOCK: Final = {**of({"locked_reason": _REASON}), "type": ["object", "null"]}

ACTIONS: Final = (
    action(
        "lock",
        plain(lock),
        Rule(
            "os_compute_api:os-lock-server:lock",
            MEMBER,
            "Lock a server: only administrators may act on it then.",
        ),
        Schema({1: {}, _REASON_SINCE: _LOCK}),
        despite_lock=True,
    ),
    action(
        "unlock",
        plain(unlock),
        Rule("os_compute_api:os-lock-server:unlock", MEMBER, "Unlock a server."),
        checks=(_OVERRIDE,),
        despite_lock=True,
    ),
)
