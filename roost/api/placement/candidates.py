"""``/placement/allocation_candidates``: the providers that have what a query requires.

A server is on one host, so a candidate is one allocation of a node and its parts, of each node that
has all of it. The schedulers check much more than this when they choose a host.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

from roost.api.dependencies import Dependencies
from roost.api.placement import groups
from roost.api.placement.groups import CandidateRequest, GroupShare
from roost.api.placement.providers import Provider, ProviderReader, family, tree_of
from roost.api.placement.rows import row, rule, strict_query
from roost.api.request import Answer, Call
from roost.api.route import Route
from roost.api.validation import UUID, Document
from roost.objects import HostReport
from roost.objects.allocations import total

CANDIDATES: Final = 10
_BY_PROVIDER: Final = 12
_LIMIT: Final = 16
_TRAITS: Final = 17
_MEMBER_OF: Final = 21
_GROUPS: Final = 25
_ALL_CLASSES: Final = 27
_TREES: Final = 29
_IN_TREE: Final = 31
_SUFFIXES: Final = 33
_MAPPINGS: Final = 34
_ROOT: Final = 35
_TEXT: Final = {"type": "string"}
_NUMBER: Final = "([1-9][0-9]*)?"
_SUFFIX: Final = "([a-zA-Z0-9_-]{1,64})?"


def _named(suffix: str, *texts: str, **others: Document) -> dict[str, Document]:
    """Return the forms of a group's parameters, by the pattern of each name."""
    forms = {**dict.fromkeys(texts, _TEXT), **others}
    return {f"^{name}{suffix}$": form for name, form in forms.items()}


LIST_QUERY: Final = strict_query(
    {
        "resources": (CANDIDATES, _TEXT),
        "limit": (_LIMIT, {"type": "string", "pattern": "^[1-9][0-9]{0,8}$"}),
        "required": (_TRAITS, _TEXT),
        "member_of": (_MEMBER_OF, _TEXT),
        "group_policy": (_GROUPS, {"enum": [*groups.POLICIES]}),
        "in_tree": (_IN_TREE, UUID),
        "root_required": (_ROOT, _TEXT),
        "same_subtree": (groups.RESOURCELESS, _TEXT),
    },
    required={CANDIDATES: ["resources"], _GROUPS: []},
    patterns={
        _GROUPS: _named(_NUMBER, "resources", "required", "member_of"),
        _IN_TREE: _named(_NUMBER, "resources", "required", "member_of", in_tree=UUID),
        _SUFFIXES: _named(_SUFFIX, "resources", "required", "member_of", in_tree=UUID),
    },
)


class AllocationCandidates:
    """Handlers of ``/placement/allocation_candidates``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._scheduler = dependencies.scheduler
        self._providers = ProviderReader(dependencies.scheduler, dependencies.api_database)

    def list_all(self, call: Call) -> Answer:
        wanted = groups.read(call.query, version=call.version)
        self._providers.check_names(call.context, *wanted.everything)
        members = self._providers.members(*wanted.everything)
        requests: list[dict[str, Any]] = []
        summaries: dict[str, Any] = {}
        for report in self._hosts(call, wanted):
            found = tree_of(report)
            shares = wanted.choose(found, members.get(report.host, ()))
            if shares is None:
                continue
            if len(requests) == call.query.number("limit"):
                break
            requests.append(_request(found, shares, call.version))
            givers = [found[share.at] for share in shares]
            shown = found if call.version >= _TREES else givers
            summaries |= {one.uuid: _summary(one, wanted.classes, call.version) for one in shown}
        return Answer({"allocation_requests": requests, "provider_summaries": summaries})

    def _hosts(self, call: Call, wanted: CandidateRequest) -> Iterable[HostReport]:
        """Return the nodes that may do: one, if a provider of it is named, or all."""
        for tree in wanted.trees:
            return self._providers.find_tree(call.context, tree)
        return self._scheduler.all_hosts(call.context)


def _request(
    found: Sequence[Provider], shares: Sequence[GroupShare], version: int
) -> dict[str, Any]:
    """Return what a consumer would request of providers."""
    amounts: dict[str, dict[str, int]] = {}
    mappings: dict[str, list[str]] = {}
    for share in shares:
        identity = found[share.at].uuid
        if share.amounts:
            amounts[identity] = total([amounts.get(identity, {}), share.amounts])
        mappings.setdefault(share.suffix, []).append(identity)
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
        shown["mappings"] = {suffix: [*dict.fromkeys(of)] for suffix, of in mappings.items()}
    return shown


def _summary(one: Provider, classes: Collection[str], version: int) -> dict[str, Any]:
    amounts = {
        each.resource_class: {"capacity": each.capacity, "used": each.used}
        for each in one.part.inventories
        if version >= _ALL_CLASSES or each.resource_class in classes
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
