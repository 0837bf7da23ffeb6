"""``/placement/resource_providers``: the nodes that the schedulers know, and their parts.

A request that names a node reads the rows of this node only, one that names a part all nodes.
"""

import dataclasses
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from roost import exception
from roost.api.compute.versions import VERSIONS_POLICY
from roost.api.dependencies import Dependencies
from roost.api.placement import requirements
from roost.api.placement.microversions import MAXIMUM, MINIMUM, ROOT, name
from roost.api.placement.requirements import ProviderRequirements
from roost.api.placement.rows import row, rule, strict_query
from roost.api.request import Answer, Call
from roost.api.route import Route
from roost.api.validation import TEXT, UUID, is_uuid
from roost.context import RequestContext
from roost.db.api import aggregates
from roost.db.engine import Database
from roost.objects import HostReport, ResourceInventory, ResourceProvider
from roost.objects.inventory import providers_of
from roost.scheduler.client import SchedulerClient

AGGREGATES: Final = 1
_MEMBER_OF: Final = 3
_RESOURCES: Final = 4
TRAITS: Final = 6
_ALLOCATIONS_LINK: Final = 11
NESTED: Final = 14
_REQUIRED: Final = 18
_AGGREGATES_WITH_GENERATION: Final = 19
_AMOUNTS: Final = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
# Links of a provider, with the versions that have them.
_LINKS: Final = {
    "inventories": MINIMUM,
    "usages": MINIMUM,
    "aggregates": AGGREGATES,
    "traits": TRAITS,
    "allocations": _ALLOCATIONS_LINK,
}
LIST_QUERY: Final = strict_query(
    {
        "name": (MINIMUM, TEXT),
        "uuid": (MINIMUM, UUID),
        "member_of": (_MEMBER_OF, {"type": "string"}),
        "resources": (_RESOURCES, {"type": "string"}),
        "in_tree": (NESTED, UUID),
        "required": (_REQUIRED, {"type": "string"}),
    }
)


@dataclasses.dataclass(frozen=True)
class Provider:
    """A node, or a part of it; the part of the whole node has no name."""

    uuid: str
    report: HostReport
    part: ResourceProvider
    parent_uuid: str | None

    @property
    def name(self) -> str:
        node = str(self.report.node)
        return f"{node}_{self.part.name}" if self.part.name else node

    @property
    def generation(self) -> dict[str, Any]:
        return {"resource_provider_generation": self.report.generation}


def tree_of(report: HostReport) -> list[Provider]:
    """Return the providers of a node, itself first."""
    found = list(providers_of(report))
    uuids = {part.name: identity for identity, part in found}
    return [
        Provider(identity, report, part, uuids.get(part.parent) if part.name else None)
        for identity, part in found
    ]


class ProviderReader:
    """Reads providers from the schedulers, and their aggregates from the API database."""

    def __init__(self, scheduler: SchedulerClient, database: Database) -> None:
        self._scheduler = scheduler
        self._database = database

    def get(self, context: RequestContext, identity: str) -> Provider:
        """Return a provider by its uuid.

        :raises roost.exception.NotFound: when there is none
        """
        wanted = str(uuid.UUID(identity)) if is_uuid(identity) else ""
        for report in self.find_tree(context, wanted) if wanted else ():
            for provider in tree_of(report):
                if provider.uuid == wanted:
                    return provider
        raise exception.NotFound(f"No resource provider with uuid {identity} found")

    def find_tree(self, context: RequestContext, identity: str) -> list[HostReport]:
        """Return the node with a provider's uuid, or with a part that has it, or none."""
        wanted = str(uuid.UUID(identity))
        found = self._scheduler.list_hosts(context, node_uuid=wanted)
        return found or [
            report
            for report in self._scheduler.all_hosts(context)
            if any(identity == wanted for identity, _ in providers_of(report))
        ]

    def members(self, *required: ProviderRequirements) -> Mapping[str, set[str]]:
        """Return which of the named aggregates each host is in."""
        named = frozenset[str]().union(*(one.named_aggregates for one in required))
        return self._database.query(aggregates.memberships, named) if named else {}

    def check_names(self, context: RequestContext, *required: ProviderRequirements) -> None:
        """Make sure that some host has the custom classes and traits that are named.

        :raises roost.exception.Invalid: naming those that nobody has
        """
        classes = set[str]().union(*(one.custom_classes for one in required))
        traits = set[str]().union(*(one.custom_traits for one in required))
        for report in self._scheduler.all_hosts(context) if classes or traits else ():
            for _, part in providers_of(report):
                classes -= {one.resource_class for one in part.inventories}
                traits -= set(part.traits)
        if classes:
            named = ", ".join(sorted(classes))
            raise exception.Invalid(f"Invalid resource class in resources parameter: {named}.")
        if traits:
            raise exception.Invalid(f"No such trait(s): {', '.join(sorted(traits))}.")


class ResourceProviders:
    """Handlers of ``/placement/resource_providers``, and of the version document."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._scheduler = dependencies.scheduler
        self._database = dependencies.api_database
        self._providers = ProviderReader(dependencies.scheduler, dependencies.api_database)

    def versions(self, _call: Call) -> Answer:
        version = {
            "id": "v1.0",
            "status": "CURRENT",
            "min_version": name(MINIMUM),
            "max_version": name(MAXIMUM),
            "links": [{"rel": "self", "href": ""}],
        }
        return Answer({"versions": [version]})

    def list_all(self, call: Call) -> Answer:
        required = requirements.read(call.query, version=call.version)
        self._providers.check_names(call.context, required)
        members = self._providers.members(required)
        found = [
            one
            for one in self._named(call)
            if required.fit(one.part, () if one.part.name else members.get(one.report.host, ()))
        ]
        return Answer({"resource_providers": [_provider(one, call.version) for one in found]})

    def show(self, call: Call) -> Answer:
        return Answer(_provider(self._one(call), call.version))

    def inventories(self, call: Call) -> Answer:
        one = self._one(call)
        shown = {each.resource_class: _inventory(each) for each in one.part.inventories}
        return Answer({"inventories": shown, **one.generation})

    def inventory(self, call: Call) -> Answer:
        one, asked = self._one(call), call.params["resource_class"]
        for each in one.part.inventories:
            if each.resource_class == asked:
                return Answer({**_inventory(each), **one.generation})
        raise exception.NotFound(f"No inventory of class {asked} for {one.uuid}")

    def usages(self, call: Call) -> Answer:
        one = self._one(call)
        used = {each.resource_class: each.used for each in one.part.inventories}
        return Answer({"usages": used, **one.generation})

    def traits(self, call: Call) -> Answer:
        one = self._one(call)
        return Answer({"traits": sorted(one.part.traits), **one.generation})

    def aggregates(self, call: Call) -> Answer:
        one = self._one(call)
        host = one.report.host
        found = [] if one.part.name else self._database.query(aggregates.uuids_of_host, host)
        shown = {"aggregates": found}
        if call.version >= _AGGREGATES_WITH_GENERATION:
            shown |= one.generation
        return Answer(shown)

    def _one(self, call: Call) -> Provider:
        return self._providers.get(call.context, call.params["provider_uuid"])

    def _named(self, call: Call) -> Iterator[Provider]:
        """Yield the providers that match ``uuid``, ``in_tree`` and ``name``."""
        name, identity, tree = map(call.query.one, ("name", "uuid", "in_tree"))
        for report in self._trees(call, tree or identity):
            for one in tree_of(report):
                if name in (None, one.name) and _is(identity, one.uuid):
                    yield one

    def _trees(self, call: Call, identity: str | None) -> Iterable[HostReport]:
        """Return the nodes whose providers may match: one, or all."""
        if identity is not None:
            return self._providers.find_tree(call.context, identity)
        node = call.query.one("name")
        found = self._scheduler.list_hosts(call.context, node=node) if node is not None else []
        return found or self._scheduler.all_hosts(call.context)


def _is(asked: str | None, identity: str) -> bool:
    return asked is None or str(uuid.UUID(asked)) == identity


def _provider(one: Provider, version: int) -> dict[str, Any]:
    path = f"{ROOT}/resource_providers/{one.uuid}"
    links = [{"rel": "self", "href": path}]
    links += [{"rel": rel, "href": f"{path}/{rel}"} for rel in _LINKS if version >= _LINKS[rel]]
    shown = {
        "uuid": one.uuid,
        "name": one.name,
        "generation": one.report.generation,
        "links": links,
    }
    if version >= NESTED:
        shown |= family(one)
    return shown


def family(one: Provider) -> dict[str, Any]:
    """Return the place of a provider in its tree."""
    return {"parent_provider_uuid": one.parent_uuid, "root_provider_uuid": one.report.node_uuid}


def _inventory(one: ResourceInventory) -> dict[str, Any]:
    return {amount: getattr(one, amount) for amount in _AMOUNTS}


_PROVIDERS: Final = "/resource_providers"
_PROVIDER: Final = f"{_PROVIDERS}/{{provider_uuid}}"
_Noun: Final = ResourceProviders

ROUTES: Final[tuple[Route, ...]] = (
    row("", (_Noun, _Noun.versions), VERSIONS_POLICY),
    row(
        _PROVIDERS,
        (_Noun, _Noun.list_all),
        rule("resource_providers:list", "List resource providers."),
        query=LIST_QUERY,
    ),
    row(
        _PROVIDER,
        (_Noun, _Noun.show),
        rule("resource_providers:show", "Show a resource provider."),
    ),
    row(
        f"{_PROVIDER}/inventories",
        (_Noun, _Noun.inventories),
        rule("resource_providers:inventories:list", "List the inventories of a provider."),
    ),
    row(
        f"{_PROVIDER}/inventories/{{resource_class}}",
        (_Noun, _Noun.inventory),
        rule("resource_providers:inventories:show", "Show an inventory of a provider."),
    ),
    row(
        f"{_PROVIDER}/usages",
        (_Noun, _Noun.usages),
        rule("resource_providers:usages", "List what is used of a provider."),
    ),
    row(
        f"{_PROVIDER}/aggregates",
        (_Noun, _Noun.aggregates),
        rule("resource_providers:aggregates:list", "List the aggregates of a provider."),
        since=AGGREGATES,
    ),
    row(
        f"{_PROVIDER}/traits",
        (_Noun, _Noun.traits),
        rule("resource_providers:traits:list", "List the traits of a provider."),
        since=TRAITS,
    ),
)
