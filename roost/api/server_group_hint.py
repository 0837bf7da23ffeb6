"""The scheduler hint ``group``: new servers join a server group from the moment they are stored."""

from collections.abc import Mapping, Sequence
from typing import Final

from roost import exception
from roost.api import policies
from roost.api.call import Call
from roost.api.validation import is_uuid
from roost.db.api import server_groups
from roost.db.engine import Session
from roost.objects import ServerGroup

GROUP: Final = "group"


def join(
    session: Session,
    call: Call,
    *,
    hints: Mapping[str, Sequence[str]],
    instance_uuids: Sequence[str],
    defaults: Mapping[str, int],
) -> ServerGroup | None:
    """Make these instances members of the group that is hinted at, if one is.

    :param defaults: limits of resources for which a project has none of its own; -1: no limit
    :returns: the group without its members, as a RequestSpec has it
    :raises roost.exception.Invalid: when there is no such group, or none for this caller
    :raises roost.exception.QuotaExceeded: when the group may not have so many servers
    """
    named = hints.get(GROUP)
    if named is None:
        return None
    uuid = _one_uuid(named)
    try:
        project = server_groups.owner(session, uuid)  # first: others learn nothing of a full group
        if not call.allows(policies.server_groups.SHOW, project_id=project):
            raise _missing(uuid)
        return server_groups.join(
            session,
            uuid,
            instance_uuids=instance_uuids,
            user_id=str(call.context.user_id),
            defaults=defaults,
        )
    except exception.NotFound as error:
        raise exception.Invalid(error.message) from error


def _one_uuid(named: Sequence[str]) -> str:
    if len(named) != 1 or not is_uuid(named[0]):
        raise _missing(", ".join(named))
    return named[0].lower()


def _missing(said: str) -> exception.Invalid:
    return exception.Invalid(f"Instance group {said} could not be found.")
