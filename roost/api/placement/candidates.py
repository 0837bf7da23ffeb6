"""``/placement/allocation_candidates``: the providers that have what a query requires.

A server is on one host, so a candidate is one allocation of a node and its parts, of each node that
has all of it. The schedulers check much more than this when they choose a host.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost.api.dependencies import Dependencies
from roost.api.placement import requirements
from roost.api.placement.providers import Provider, ProviderReader, family, tree_of
from roost.api.placement.rows import row, rule, strict_query
from roost.api.request import Answer, Call
from roost.api.route import Route
from roost.api.validation import UUID

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
            else self._providers.find_tree(call.context, tree)
        )
        members = self._providers.members(required)
        requests: list[dict[str, Any]] = []
        summaries: dict[str, Any] = {}
        for report in hosts:
            found = tree_of(report)
            member_of = members.get(report.host, ())
            chosen = required.choose([one.part for one in found], member_of)
            if chosen is None:
                continue
            if len(requests) == call.query.number("limit"):
                break
            givers = [found[at] for at in chosen]
            requests.append(_request(givers, required.resources, call.version))
            shown = found if call.version >= _TREES else givers
            summaries |= {
                one.uuid: _summary(one, required.resources, call.version) for one in shown
            }
        return Answer({"allocation_requests": requests, "provider_summaries": summaries})


def _request(
    givers: Sequence[Provider], resources: Mapping[str, int], version: int
) -> dict[str, Any]:
    """Return what a consumer would request of providers, of each one class."""
    amounts: dict[str, dict[str, int]] = {}
    for one, (name, amount) in zip(givers, resources.items(), strict=True):
        amounts.setdefault(one.uuid, {})[name] = amount
    if version < _BY_PROVIDER:
        old = [
            {"resource_provider": {"uuid": identity}, "resources": of}
            for identity, of in amounts.items()
        ]
        return {"allocations": old}
    shown: dict[str, Any] = {
        "allocations": {identity: {"resources": of} for identity, of in amounts.items()}
    }
    if version >= _MAPPINGS:
        shown["mappings"] = {"": list(amounts)}
    return shown


def _summary(one: Provider, resources: Mapping[str, int], version: int) -> dict[str, Any]:
    amounts = {
        each.resource_class: {"capacity": each.capacity, "used": each.used}
        for each in one.part.inventories
        if version >= _ALL_CLASSES or each.resource_class in resources
    }
    shown: dict[str, Any] = {"resources": amounts}
    if version >= _TRAITS:
        shown["traits"] = sorted(one.part.traits)
    if version >= _TREES:
        shown |= family(one)
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
