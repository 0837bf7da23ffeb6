"""Server groups: servers that want to be together, or apart."""

import logging
import uuid
from typing import Any, Final

from roost import exception
from roost.api import paging, policies
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.schemas.base import MAX_INTEGER
from roost.api.views import server_groups as views
from roost.db.api import server_groups as rows
from roost.db.engine import retried
from roost.objects import ServerGroup

LOG = logging.getLogger(__name__)
_WITH_RULES: Final = "anti-affinity"


class ServerGroups:
    """Handlers of ``/os-server-groups``.

    What is stored is the truth; the schedulers are told of it by a hint, and again by the next
    snapshot.
    """

    def __init__(self, parts: Parts) -> None:
        self._database = parts.api_database
        self._scheduler = parts.scheduler
        self._limits = parts.options.quota
        self._most = parts.options.max_limit

    def list_all(self, call: Call) -> Answer:
        everywhere = "all_projects" in call.query and call.allows(
            policies.server_groups.ALL_PROJECTS
        )
        with self._database.read() as session:
            found = rows.list_groups(
                session,
                project_id=None if everywhere else call.project_id,
                offset=call.query.number("offset") or 0,
                limit=paging.limit(call, most=self._most),
            )
        return Answer({"server_groups": [views.full(one, version=call.version) for one in found]})

    def create(self, call: Call) -> Answer:
        group = self._create(_asked(call))
        self._tell(call, group)
        return _shown(call, group)

    def show(self, call: Call) -> Answer:
        with self._database.read() as session:
            group = rows.get(session, call.params["server_group_id"])
        _check_owner(call, group)
        return _shown(call, group)

    def delete(self, call: Call) -> Answer:
        self._tell(call, self._delete(call))
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

    def _tell(self, call: Call, group: ServerGroup) -> None:
        try:
            self._scheduler.update_groups(call.context, groups=[group])
        except exception.RoostError as error:
            LOG.warning("server group %s: no scheduler was told yet: %s", group.uuid, error)


def _asked(call: Call) -> ServerGroup:
    """Make a group of a valid body.

    :raises roost.exception.Invalid: for rules that the policy does not have
    """
    asked, context = call.body["server_group"], call.context
    policy = asked["policy"] if "policy" in asked else asked["policies"][0]
    return ServerGroup.of(
        uuid=str(uuid.uuid4()),
        project_id=call.project_id,
        user_id=context.user_id,
        name=asked["name"].strip(),
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
    return Answer({"server_group": views.full(group, version=call.version)})
