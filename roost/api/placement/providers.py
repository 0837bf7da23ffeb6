"""``/placement/resource_providers``: the nodes that the schedulers know, and what they have.

A request that names a provider reads the rows of this provider only.
"""

import uuid
from collections.abc import Iterable, Mapping
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
from roost.objects import HostReport, ResourceInventory
from roost.objects.inventory import inventories_of
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


class ProviderReader:
    """Reads providers from the schedulers, and their aggregates from the API database."""

    def __init__(self, scheduler: SchedulerClient, database: Database) -> None:
        self._scheduler = scheduler
        self._database = database

    def get(self, context: RequestContext, identity: str) -> HostReport:
        """Return a provider by its uuid.

        :raises roost.exception.NotFound: when there is none
        """
        found = self.find(context, identity) if is_uuid(identity) else []
        if not found:
            raise exception.NotFound(f"No resource provider with uuid {identity} found")
        return found[0]

    def find(self, context: RequestContext, identity: str) -> list[HostReport]:
        """Return the provider with a uuid, or none."""
        return self._scheduler.list_hosts(context, node_uuid=str(uuid.UUID(identity)))

    def fitting(
        self, reports: Iterable[HostReport], required: ProviderRequirements
    ) -> list[HostReport]:
        """Return the providers that fit."""
        members = self._members(required)
        return [report for report in reports if required.fit(report, members.get(report.host, ()))]

    def aggregates(self, report: HostReport) -> list[str]:
        """Return the uuids of a provider's aggregates."""
        return self._database.query(aggregates.uuids_of_host, report.host)

    def _members(self, required: ProviderRequirements) -> Mapping[str, set[str]]:
        """Return which of the named aggregates each host is in."""
        if not required.named_aggregates:
            return {}
        return self._database.query(aggregates.memberships, required.named_aggregates)


class ResourceProviders:
    """Handlers of ``/placement/resource_providers``, and of the version document."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._scheduler = dependencies.scheduler
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
        found = self._providers.fitting(self._named(call), required)
        return Answer({"resource_providers": [_provider(one, call.version) for one in found]})

    def show(self, call: Call) -> Answer:
        return Answer(_provider(self._one(call), call.version))

    def inventories(self, call: Call) -> Answer:
        report = self._one(call)
        shown = {one.resource_class: _inventory(one) for one in inventories_of(report)}
        return Answer({"inventories": shown, **_generation(report)})

    def inventory(self, call: Call) -> Answer:
        report, asked = self._one(call), call.params["resource_class"]
        for one in inventories_of(report):
            if one.resource_class == asked:
                return Answer({**_inventory(one), **_generation(report)})
        raise exception.NotFound(
            f"No inventory of class {asked} found for resource provider {report.node_uuid}"
        )

    def usages(self, call: Call) -> Answer:
        report = self._one(call)
        used = {one.resource_class: one.used for one in inventories_of(report)}
        return Answer({"usages": used, **_generation(report)})

    def traits(self, call: Call) -> Answer:
        report = self._one(call)
        return Answer({"traits": sorted(report.traits), **_generation(report)})

    def aggregates(self, call: Call) -> Answer:
        report = self._one(call)
        shown = {"aggregates": self._providers.aggregates(report)}
        if call.version >= _AGGREGATES_WITH_GENERATION:
            shown |= _generation(report)
        return Answer(shown)

    def _one(self, call: Call) -> HostReport:
        return self._providers.get(call.context, call.params["provider_uuid"])

    def _named(self, call: Call) -> Iterable[HostReport]:
        """Return the providers that match ``uuid``, ``in_tree`` and ``name``: one, or all.

        A provider is a tree of its own.
        """
        node = call.query.one("name")
        uuids = {*call.query.all("uuid"), *call.query.all("in_tree")}
        if not uuids and node is None:
            return self._scheduler.all_hosts(call.context)
        if not uuids:
            return self._scheduler.list_hosts(call.context, node=node)
        asked = {str(uuid.UUID(each)) for each in uuids}
        found = self._providers.find(call.context, asked.pop())
        return [one for one in found if not asked and node in (None, one.node)]


def _provider(report: HostReport, version: int) -> dict[str, Any]:
    path = f"{ROOT}/resource_providers/{report.node_uuid}"
    links = [{"rel": "self", "href": path}]
    links += [{"rel": rel, "href": f"{path}/{rel}"} for rel in _LINKS if version >= _LINKS[rel]]
    shown = {
        "uuid": report.node_uuid,
        "name": report.node,
        "generation": report.generation,
        "links": links,
    }
    if version >= NESTED:
        shown |= {"parent_provider_uuid": None, "root_provider_uuid": report.node_uuid}
    return shown


def _inventory(one: ResourceInventory) -> dict[str, Any]:
    return {amount: getattr(one, amount) for amount in _AMOUNTS}


def _generation(report: HostReport) -> dict[str, Any]:
    return {"resource_provider_generation": report.generation}


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
