"""Scheduler hints of a create: which servers or hosts it is to be near, and who may use them.

Servers join the group of the hint ``group`` in the transaction that stores them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from roost import exception
from roost.api.compute import server_groups as compute_server_groups
from roost.api.request import Call
from roost.api.servers import policies
from roost.api.validation import is_uuid
from roost.db.api import instance_mappings, server_groups
from roost.db.engine import Database, Session
from roost.objects import ServerGroup
from roost.objects.request import DIFFERENT_HOST, SAME_HOST

_OF_SERVERS: Final = (SAME_HOST, DIFFERENT_HOST)
_OF_HOSTS: Final = ("build_near_host_ip", "query")  # their results reveal the hosts

Hints = Mapping[str, Sequence[str]]


def hints_of(call: Call, asked: Mapping[str, Any], database: Database) -> dict[str, list[str]]:
    """Return the hints of a body, each a list.

    :param asked: the object ``server`` of the body
    :raises roost.exception.Forbidden: when one is about hosts, and the policy forbids it
    :raises roost.exception.Invalid: when one names a server that does not exist, or that the caller
        may not see: with the same message
    """
    hints = _read(call.body, asked)
    if any(name in hints for name in _OF_HOSTS):
        call.require(policies.HOST_HINTS)
    servers: Hints = {name: hints[name] for name in _OF_SERVERS if name in hints}
    return hints | _found(call, servers, database)


def _read(body: Mapping[str, Any], asked: Mapping[str, Any]) -> dict[str, list[str]]:
    found = body.get("os:scheduler_hints") or body.get("OS-SCH-HNT:scheduler_hints")
    found = found or asked.get("os:scheduler_hints") or {}
    return {
        name: [str(one) for one in (value if isinstance(value, list) else [value])]
        for name, value in found.items()
    }


def _found(call: Call, hints: Hints, database: Database) -> dict[str, list[str]]:
    """Return hints with the uuids of servers as rows have them.

    Callers who may not see a server must not find out its host.
    """
    if not hints:
        return {}
    uuids = {said: str(UUID(said)) for named in hints.values() for said in named if is_uuid(said)}
    projects = database.query(instance_mappings.projects_of, [*uuids.values()])
    for hint, named in hints.items():
        for said in named:
            project_id = projects.get(uuids.get(said, ""))
            if project_id is None or not call.allows(policies.SHOW, project_id=project_id):
                raise exception.Invalid(f"The hint {hint}: instance {said} could not be found.")
    return {hint: [uuids[said] for said in named] for hint, named in hints.items()}


GROUP: Final = "group"


def join(
    session: Session,
    call: Call,
    *,
    hints: Mapping[str, Sequence[str]],
    instance_uuids: Sequence[str],
    defaults: Mapping[str, int],
) -> ServerGroup | None:
    """Add these instances to the group of the hint, if there is one.

    :param defaults: limits of resources for which a project has none of its own; -1: no limit
    :returns: the group without its members, as a RequestSpec has it
    :raises roost.exception.Invalid: when there is no such group, or none for this caller
    :raises roost.exception.QuotaExceeded: when the group would have too many servers
    """
    named = hints.get(GROUP)
    if named is None:
        return None
    uuid = _one_uuid(named)
    try:
        project = server_groups.owner(session, uuid)  # first: others must not see that it is full
        if not call.allows(compute_server_groups.SHOW_POLICY, project_id=project):
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
