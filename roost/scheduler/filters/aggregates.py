"""Filters by the metadata of aggregates: flavors, images and projects."""

from collections.abc import Hashable
from typing import Any, Final, Self

from roost.hardware import spec_language
from roost.scheduler.columns import Columns, Membership
from roost.scheduler.filters import Filter, Refusal, RequirementsFilter
from roost.scheduler.request import Request

_SCOPE: Final = "aggregate_instance_extra_specs"
_TENANTS: Final = "filter_tenant_id"
_FLAVORS: Final = "instance_type"


class AggregateExtraSpecsFilter(RequirementsFilter):
    """Checks extra specs of its scope, and those without scope, against aggregate metadata."""

    name = "aggregate_extra_specs"

    def applies_to(self, request: Request) -> bool:
        return bool(_demands(request))

    def key(self, request: Request) -> Hashable:
        return _demands(request)

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        return [
            Refusal(f"in no aggregate with {name}={wanted}", ~_matching(hosts, name, wanted))
            for name, wanted in _demands(request)
        ]


class AggregateImagePropertiesFilter(Filter):
    """Refuses hosts whose aggregates have a property of the image with other values.

    :param namespace: only metadata whose key begins with it and ``separator``; empty: all
    """

    name = "aggregate_image_properties_isolation"

    def __init__(self, *, namespace: str = "", separator: str = ".") -> None:
        self._prefix = namespace + separator if namespace else ""

    @classmethod
    def from_options(cls, options: Any) -> Self:
        return cls(
            namespace=options.aggregate_image_properties_isolation_namespace or "",
            separator=options.aggregate_image_properties_isolation_separator,
        )

    def applies_to(self, request: Request) -> bool:
        return bool(self._properties(request))

    def key(self, request: Request) -> Hashable:
        return tuple(sorted(self._properties(request).items()))

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        properties = self._properties(request)

        def keeps_out(membership: Membership) -> bool:
            listed = ((name, membership.listed(name)) for name in properties)
            return any(values and properties[name] not in values for name, values in listed)

        return [
            Refusal("reserved for other images by its aggregates", hosts.by_membership(keeps_out))
        ]

    def _properties(self, request: Request) -> dict[str, str]:
        found = request.image_properties().items()
        return {name: value for name, value in found if name.startswith(self._prefix)}


class AggregateTenantFilter(Filter):
    """Reserves hosts of aggregates with ``filter_tenant_id`` (any suffix) for these projects."""

    name = "aggregate_tenant_isolation"

    def key(self, request: Request) -> Hashable:
        return request.spec.project_id

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        project = request.spec.project_id

        def keeps_out(membership: Membership) -> bool:
            names = {name for name in membership.names() if name.startswith(_TENANTS)}
            return bool(names) and all(project not in membership.listed(name) for name in names)

        return [Refusal("reserved for other projects", hosts.by_membership(keeps_out))]


class AggregateTypeAffinityFilter(Filter):
    """Reserves hosts of aggregates with ``instance_type`` for these flavors."""

    name = "aggregate_type_affinity"

    def key(self, request: Request) -> Hashable:
        return request.flavor.name if request.flavor else None

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        flavor = self.key(request)

        def keeps_out(membership: Membership) -> bool:
            flavors = membership.listed(_FLAVORS)
            return bool(flavors) and flavor not in flavors

        return [Refusal("reserved for other flavors", hosts.by_membership(keeps_out))]


def _demands(request: Request) -> spec_language.Items:
    specs = request.extra_specs()
    return spec_language.scoped(specs, _SCOPE) + spec_language.unscoped(specs)


def _matching(hosts: Columns, name: str, wanted: str) -> Any:
    test = spec_language.parse(wanted)
    return hosts.by_membership(lambda membership: any(map(test, membership.listed(name))))
