"""Server groups: servers to be placed on the same host or on different ones (affinity)."""

import logging
import uuid
from typing import Any, Final

from roost import exception
from roost.api import pagination
from roost.api.dependencies import Dependencies
from roost.api.policy import ADMIN, MEMBER, READER, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.validation import (
    MAX_INTEGER,
    NAME,
    TEXT,
    WHOLE_NUMBER,
    Schema,
    list_query,
    number,
    of,
    wrapped,
)
from roost.db.api import server_groups as rows
from roost.db.engine import retried
from roost.objects import ServerGroup

ALL_PROJECTS_POLICY = Rule(
    "os_compute_api:os-server-groups:index:all_projects", ADMIN, "List those of every project."
)
SHOW_POLICY = Rule(
    "os_compute_api:os-server-groups:show",
    READER,
    "Show a server group, or let a new server join it.",
)


SOFT: Final = 15  # since 2.15 there are soft policies
RULES_SINCE: Final = 64  # since 2.64 a group has one policy, which may have rules

_HARD_POLICIES = ["anti-affinity", "affinity"]
_POLICIES = [*_HARD_POLICIES, "soft-anti-affinity", "soft-affinity"]


def _one_of_a_list(policies: list[str]) -> dict[str, Any]:
    return {"type": "array", "minItems": 1, "maxItems": 1, "items": {"enum": policies}}


def _create(**values: Any) -> Any:
    """Return the schema of a create: a name and the first of the values are required."""
    return wrapped("server_group", of({"name": NAME, **values}, required=["name", *values][:2]))


CREATE: Final = Schema(
    {
        1: _create(policies=_one_of_a_list(_HARD_POLICIES)),
        SOFT: _create(policies=_one_of_a_list(_POLICIES)),
        RULES_SINCE: _create(
            policy={"enum": _POLICIES}, rules=of({"max_server_per_host": number(1)})
        ),
    }
)
_LIST: dict[str, Any] = {"all_projects": TEXT, "limit": WHOLE_NUMBER, "offset": WHOLE_NUMBER}
LIST_QUERY: Final = list_query(_LIST)


OWNER: Final = 13  # since 2.13 a group shows its project and user


def full(group: ServerGroup, *, version: int) -> dict[str, Any]:
    """Return a group with its members."""
    shown: dict[str, Any] = {"id": group.uuid, "name": group.name, "members": list(group.members)}
    if version >= OWNER:
        shown |= {"project_id": group.project_id, "user_id": group.user_id}
    if version >= RULES_SINCE:
        most = group.max_server_per_host
        rules = {} if most is None else {"max_server_per_host": most}
        return {**shown, "policy": group.policy, "rules": rules}
    return {**shown, "policies": [group.policy], "metadata": {}}


LOG = logging.getLogger(__name__)
_WITH_RULES: Final = "anti-affinity"


class ServerGroups:
    """Handlers of ``/os-server-groups``.

    The API database is authoritative; the schedulers receive a change by a notification, and again
    by the next snapshot.
    """

    def __init__(self, dependencies: Dependencies) -> None:
        self._database = dependencies.api_database
        self._scheduler = dependencies.scheduler
        self._limits = dependencies.options.quota
        self._most = dependencies.options.max_limit

    def list_all(self, call: Call) -> Answer:
        everywhere = "all_projects" in call.query and call.allows(ALL_PROJECTS_POLICY)
        found = self._database.query(
            rows.list_groups,
            project_id=None if everywhere else call.project_id,
            offset=call.query.number("offset") or 0,
            limit=pagination.limit(call, most=self._most),
        )
        return Answer({"server_groups": [full(one, version=call.version) for one in found]})

    def create(self, call: Call) -> Answer:
        group = self._create(_asked(call))
        self._notify_schedulers(call, group)
        return _shown(call, group)

    def show(self, call: Call) -> Answer:
        group = self._database.query(rows.get, call.params["server_group_id"])
        _check_owner(call, group)
        return _shown(call, group)

    def delete(self, call: Call) -> Answer:
        self._notify_schedulers(call, self._delete(call))
        return Answer()

    @retried
    def _create(self, group: ServerGroup) -> ServerGroup:
        try:
            with self._database.begin() as session:
                return rows.create(session, group, defaults=self._limits)
        except exception.QuotaExceeded as error:
            raise exception.QuotaExceeded(
                "Quota exceeded, too many server groups.", **error.details
            ) from error

    @retried
    def _delete(self, call: Call) -> ServerGroup:
        identity = call.params["server_group_id"]
        with self._database.begin() as session:
            _check_owner(call, rows.get(session, identity))
            return rows.delete(session, identity)

    def _notify_schedulers(self, call: Call, group: ServerGroup) -> None:
        try:
            self._scheduler.update_groups(call.context, groups=[group])
        except exception.RoostError as error:
            LOG.warning("server group %s: no scheduler was notified: %s", group.uuid, error)


def _asked(call: Call) -> ServerGroup:
    """Make a group from a valid body.

    :raises roost.exception.Invalid: for rules that the policy does not have
    """
    asked, context = call.body["server_group"], call.context
    policy = asked["policy"] if "policy" in asked else asked["policies"][0]
    return ServerGroup.of(
        uuid=str(uuid.uuid4()),
        project_id=call.project_id,
        user_id=context.user_id,
        name=asked["name"],
        policy=policy,
        max_server_per_host=_max_server_per_host(policy, asked.get("rules") or {}),
    )


def _max_server_per_host(policy: str, rules: dict[str, Any]) -> int | None:
    if not rules:
        return None
    if policy != _WITH_RULES:
        raise exception.Invalid("Only anti-affinity policy supports rules.")
    most = int(rules["max_server_per_host"])
    if not 1 <= most <= MAX_INTEGER:
        raise exception.Invalid(
            f"Invalid input for field/attribute max_server_per_host: {most} is not from 1 to"
            f" {MAX_INTEGER}"
        )
    return most


def _check_owner(call: Call, group: ServerGroup) -> None:
    call.may_touch(group.project_id, name=f"Instance group {group.uuid}")


def _shown(call: Call, group: ServerGroup) -> Answer:
    return Answer({"server_group": full(group, version=call.version)})


ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/os-server-groups",
        (ServerGroups, ServerGroups.list_all),
        Rule("os_compute_api:os-server-groups:index", READER, "List server groups."),
        query=LIST_QUERY,
        checks=(ALL_PROJECTS_POLICY,),
    ),
    row(
        "POST /v2.1/os-server-groups",
        (ServerGroups, ServerGroups.create),
        Rule("os_compute_api:os-server-groups:create", MEMBER, "Create a server group."),
        body=CREATE,
    ),
    row(
        "GET /v2.1/os-server-groups/{server_group_id}",
        (ServerGroups, ServerGroups.show),
        SHOW_POLICY,
    ),
    row(
        "DELETE /v2.1/os-server-groups/{server_group_id}",
        (ServerGroups, ServerGroups.delete),
        Rule(
            "os_compute_api:os-server-groups:delete",
            MEMBER,
            "Delete a server group; its servers stay.",
        ),
        status=204,
    ),
)
