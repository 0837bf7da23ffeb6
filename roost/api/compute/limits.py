"""Limits: the quota of a project and how much of it is used, as users see them."""

from collections.abc import Mapping
from typing import Any, Final

from roost.api.compute import quota_resources
from roost.api.compute.quota_resources import NO_FILES, NO_NETWORKS
from roost.api.dependencies import Dependencies
from roost.api.policy import ADMIN, READER, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.validation import TEXT, list_query
from roost.db.api import quota

OTHER_PROJECT_POLICY = Rule(
    "os_compute_api:limits:other_project",
    ADMIN,
    "Show the limits and the usage of another project.",
    formerly="os_compute_api:os-used-limits",
)


_QUERY: dict[str, Any] = {"tenant_id": TEXT, "reserved": TEXT}
SHOW_QUERY: Final = list_query(_QUERY)


NO_IMAGE_METADATA: Final = 39  # since 2.39 only the image service limits image metadata

# Fields of the answer: (last microversion, name of the field, resource).
_LIMITS: Final = (
    (NO_IMAGE_METADATA - 1, "maxImageMeta", "metadata_items"),
    (NO_FILES - 1, "maxPersonality", "injected_files"),
    (NO_FILES - 1, "maxPersonalitySize", "injected_file_content_bytes"),
    (NO_NETWORKS - 1, "maxSecurityGroupRules", "security_group_rules"),
    (NO_NETWORKS - 1, "maxSecurityGroups", "security_groups"),
    (None, "maxServerGroupMembers", "server_group_members"),
    (None, "maxServerGroups", "server_groups"),
    (None, "maxServerMeta", "metadata_items"),
    (None, "maxTotalCores", "cores"),
    (NO_NETWORKS - 1, "maxTotalFloatingIps", "floating_ips"),
    (None, "maxTotalInstances", "instances"),
    (None, "maxTotalKeypairs", "key_pairs"),
    (None, "maxTotalRAMSize", "ram"),
)
_USED: Final = (
    (None, "totalCoresUsed", "cores"),
    (NO_NETWORKS - 1, "totalFloatingIpsUsed", "floating_ips"),
    (None, "totalInstancesUsed", "instances"),
    (None, "totalRAMUsed", "ram"),
    (NO_NETWORKS - 1, "totalSecurityGroupsUsed", "security_groups"),
    (None, "totalServerGroupsUsed", "server_groups"),
)


def full(limits: Mapping[str, int], used: Mapping[str, int], *, version: int) -> dict[str, Any]:
    """Return the limits and the usage of a project."""

    def shown(until: int | None) -> bool:
        return until is None or version <= until

    absolute = {name: limits[resource] for until, name, resource in _LIMITS if shown(until)}
    absolute |= {name: used.get(resource, 0) for until, name, resource in _USED if shown(until)}
    return {"limits": {"rate": [], "absolute": absolute}}


class Limits:
    """Handlers of ``/limits``.

    Reserved amounts count as used: the query's ``reserved`` has no effect.
    """

    def __init__(self, dependencies: Dependencies) -> None:
        self._database = dependencies.api_database
        self._defaults = quota_resources.defaults(dependencies.options.quota)

    def show(self, call: Call) -> Answer:
        other = call.query.one("tenant_id")
        if other and other != call.context.project_id:
            call.require(OTHER_PROJECT_POLICY)
        project = other or call.project_id
        with self._database.read() as session:
            most = quota.limits(session, project, self._defaults)
            used = quota.usage(session, project)
        return Answer(full(most, used, version=call.version))


ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/limits",
        (Limits, Limits.show),
        Rule("os_compute_api:limits", READER, "Show the limits and the usage of one's project."),
        query=SHOW_QUERY,
        checks=(OTHER_PROJECT_POLICY,),
    ),
)
