"""``/placement/allocation_candidates``: the providers that have what a query requires.

A server is on one host, so a candidate is a provider that has all of it. The schedulers check much
more than this when they choose a host.
"""

from collections.abc import Mapping
from typing import Any, Final

from roost.api.dependencies import Dependencies
from roost.api.placement import requirements
from roost.api.placement.providers import ProviderReader
from roost.api.placement.rows import row, rule, strict_query
from roost.api.request import Answer, Call
from roost.api.route import Route
from roost.api.validation import UUID
from roost.objects import HostReport
from roost.objects.inventory import inventories_of

CANDIDATES: Final = 10
_BY_PROVIDER: Final = 12
_LIMIT: Final = 16
_TRAITS: Final = 17
_MEMBER_OF: Final = 21
_ALL_CLASSES: Final = 27
_TREES: Final = 29
_IN_TREE: Final = 31
_MAPPINGS: Final = 34
LIST_QUERY: Final = strict_query(
    {
        "resources": (CANDIDATES, {"type": "string"}),
        "limit": (_LIMIT, {"type": "string", "pattern": "^[1-9][0-9]{0,8}$"}),
        "required": (_TRAITS, {"type": "string"}),
        "member_of": (_MEMBER_OF, {"type": "string"}),
        "in_tree": (_IN_TREE, UUID),
    },
    required=["resources"],
)


class AllocationCandidates:
    """Handlers of ``/placement/allocation_candidates``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._scheduler = dependencies.scheduler
        self._providers = ProviderReader(dependencies.scheduler, dependencies.api_database)

    def list_all(self, call: Call) -> Answer:
        required = requirements.read(call.query, version=call.version)
        tree = call.query.one("in_tree")
        hosts = (
            self._scheduler.all_hosts(call.context)
            if tree is None
            else self._providers.find(call.context, tree)
        )
        found = self._providers.fitting(hosts, required)[: call.query.number("limit")]
        requests = [_request(one, required.resources, call.version) for one in found]
        summaries = {
            one.node_uuid: _summary(one, required.resources, call.version) for one in found
        }
        return Answer({"allocation_requests": requests, "provider_summaries": summaries})


def _request(report: HostReport, resources: Mapping[str, int], version: int) -> dict[str, Any]:
    """Return what a consumer would request of a provider."""
    identity = report.node_uuid
    if version < _BY_PROVIDER:
        provider = {"resource_provider": {"uuid": identity}, "resources": resources}
        return {"allocations": [provider]}
    shown: dict[str, Any] = {"allocations": {identity: {"resources": resources}}}
    if version >= _MAPPINGS:
        shown["mappings"] = {"": [identity]}
    return shown


def _summary(report: HostReport, resources: Mapping[str, int], version: int) -> dict[str, Any]:
    amounts = {
        one.resource_class: {"capacity": one.capacity, "used": one.used}
        for one in inventories_of(report)
        if version >= _ALL_CLASSES or one.resource_class in resources
    }
    shown: dict[str, Any] = {"resources": amounts}
    if version >= _TRAITS:
        shown["traits"] = sorted(report.traits)
    if version >= _TREES:
        shown |= {"parent_provider_uuid": None, "root_provider_uuid": report.node_uuid}
    return shown


ROUTES: Final[tuple[Route, ...]] = (
    row(
        "/allocation_candidates",
        (AllocationCandidates, AllocationCandidates.list_all),
        rule("allocation_candidates:list", "List the providers that have what is required."),
        query=LIST_QUERY,
        since=CANDIDATES,
    ),
)
