"""Locks: users protect servers from themselves, administrators from users.

A locked server is left alone by all but administrators. Who is of its project locks it as its
owner, and may unlock it again; what others have locked needs a rule of its own to be unlocked.
"""

from collections.abc import Mapping
from typing import Any, Final

from roost import exception
from roost.api import action_records, policies
from roost.api.call import Answer, Call
from roost.api.whereabouts import Located, missing
from roost.cells import Cell
from roost.db.cell import actions, instances
from roost.db.engine import retried
from roost.objects import Instance, InstanceAction

OWNER: Final = "owner"
OTHER: Final = "admin"
_ADMIN: Final = "admin_api"
_REASON_SINCE: Final = 73


def refuse(call: Call, instance: Instance) -> None:
    """Raise :class:`roost.exception.Conflict` if the server is locked for this caller."""
    if instance.locked and not call.allows(_ADMIN):
        raise exception.Conflict(f"Instance {instance.uuid} is locked")


def lock(call: Call, located: Located) -> Answer:
    """Lock a server. An owner's lock changes nothing of a server that is locked."""
    instance, cell = located.instance, _cell(located)
    who = _who(call, instance)
    changes = {"locked": True, "locked_by": who, "locked_reason": _reason(call)}
    expected = {"locked": False} if who == OWNER else {}
    _write(cell, action_records.done(call, str(instance.uuid), "lock"), changes, expected)
    return Answer()


def unlock(call: Call, located: Located) -> Answer:
    """Unlock a server, whoever locked it, if the caller may that.

    :raises roost.exception.Forbidden: when somebody else has locked it
    """
    instance, cell = located.instance, _cell(located)
    if instance.locked_by not in (None, _who(call, instance)):
        rule = policies.server_actions.UNLOCK_OVERRIDE
        if not call.allows(rule, project_id=instance.project_id):
            raise exception.Forbidden(f"Policy doesn't allow {rule} to be performed.")
    changes = {"locked": False, "locked_by": None, "locked_reason": None}
    expected = {"locked_by": (instance.locked_by, None)}
    record = action_records.done(call, str(instance.uuid), "unlock")
    if not _write(cell, record, changes, expected):
        raise exception.Conflict(f"Instance {instance.uuid} was locked anew this moment")
    return Answer()


@retried
def _write(
    cell: Cell, record: InstanceAction, changes: Mapping[str, Any], expected: Mapping[str, Any]
) -> bool:
    """Change the lock, and tell whether it was as expected."""
    with cell.database.begin() as session:
        try:
            instances.update(session, record.instance_uuid, changes, expected=expected)
        except exception.NotFound as error:
            raise missing(record.instance_uuid) from error
        except exception.Conflict:
            return False
        actions.start(session, record)
        return True


def _cell(located: Located) -> Cell:
    if located.cell is None:
        raise exception.Conflict(
            f"Instance {located.instance.uuid} is being scheduled; it can be locked or unlocked"
            " when it has a host, in a moment."
        )
    return located.cell


def _reason(call: Call) -> str | None:
    """Return why; before its time a body says nothing."""
    asked = call.body["lock"] if call.version >= _REASON_SINCE else None
    return None if asked is None else asked.get("locked_reason")


def _who(call: Call, instance: Instance) -> str:
    return OWNER if call.context.project_id == instance.project_id else OTHER
