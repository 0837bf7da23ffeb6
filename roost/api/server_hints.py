"""Scheduler hints: what a body says of where its servers want to be, and who may say so."""

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from roost import exception
from roost.api import policies
from roost.api.call import Call
from roost.api.validation import is_uuid
from roost.db.api import instance_mappings
from roost.db.engine import Database

_OF_SERVERS: Final = ("same_host", "different_host")
_OF_HOSTS: Final = ("build_near_host_ip", "query")  # whose answers tell what hosts there are

Hints = Mapping[str, Sequence[str]]


def hints_of(call: Call, asked: Mapping[str, Any], database: Database) -> dict[str, list[str]]:
    """Return the hints of a body, each a list.

    :param asked: the server of the body
    :raises roost.exception.Forbidden: when one is about hosts, and the caller may not
    :raises roost.exception.Invalid: when one names a server that is not there, or not for the
        caller: both are told alike
    """
    hints = _read(call.body, asked)
    if any(name in hints for name in _OF_HOSTS):
        call.require(policies.servers.HOST_HINTS)
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

    Where a server is must not be found out by who may not see that it is there.
    """
    if not hints:
        return {}
    uuids = {said: str(UUID(said)) for named in hints.values() for said in named if is_uuid(said)}
    with database.read() as session:
        projects = instance_mappings.projects_of(session, [*uuids.values()])
    for hint, named in hints.items():
        for said in named:
            project_id = projects.get(uuids.get(said, ""))
            if project_id is None or not call.allows(policies.servers.SHOW, project_id=project_id):
                raise exception.Invalid(f"The hint {hint}: instance {said} could not be found.")
    return {hint: [uuids[said] for said in named] for hint, named in hints.items()}
