"""The request to a driver: plain values, and the request as sent for plug-ins that need more."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final, Self

from roost import exception
from roost.hardware import resource_groups
from roost.hardware.resource_groups import ResourceGroups
from roost.objects import Flavor, ImageMeta, RequestSpec, ResourceRequest
from roost.objects.allocations import Allocations, Amounts, of_host, total
from roost.objects.inventory import HOST_CLASSES, LARGEST
from roost.objects.topology import sizes_of

_HINTS: Final = ("same_host", "different_host")


@dataclasses.dataclass
class Request:
    """A request for hosts for some instances: of servers, or whatever else its ``spec`` is for.

    ``placed`` has an entry per instance: the row of the host on which it holds a claim and stays,
    or None. ``asked`` are the amounts per instance of the classes that each host counts, and
    ``resources`` those of other classes. ``group_counts`` has the number of members of the
    request's server group per row, including those just placed; ``rows_of`` the rows of hosts on
    which the instances that hints name hold claims.
    """

    spec: ResourceRequest
    asked: Amounts
    resources: ResourceGroups
    placed: Sequence[int | None]
    alternates: int
    group_counts: dict[int, int]
    rows_of: Mapping[str, Sequence[int]]

    @classmethod
    def of(
        cls,
        spec: ResourceRequest,
        *,
        placed: Sequence[int | None] = (None,),
        alternates: int = 0,
        group_counts: dict[int, int] | None = None,
        rows_of: Mapping[str, Sequence[int]] | None = None,
    ) -> Self:
        counts = {} if group_counts is None else group_counts
        return cls(
            spec,
            asked_by(spec),
            grouped(spec),
            placed,
            alternates,
            counts,
            rows_of or {},
        )

    @property
    def unplaced(self) -> int:
        """The number of instances that need a host."""
        return sum(1 for row in self.placed if row is None)

    def asked_of(self, resource_class: str) -> int:
        return self.asked.get(resource_class, 0)

    @property
    def allocations(self) -> Allocations:
        """What each instance has of a host without parts, unless it asks for groups."""
        own = self.resources.own.amounts
        return of_host({**self.asked, **dict(own)} if own else self.asked)

    @property
    def total(self) -> Amounts:
        """All that an instance takes, by class."""
        groups = (self.resources.own, *self.resources.groups)
        sums = total([self.asked, *(dict(group.amounts) for group in groups)])
        return {name: amount for name, amount in sums.items() if amount}

    def hint(self, name: str) -> list[str]:
        """Return the values of a scheduler hint, or an empty list."""
        found: list[str] = self.spec.hints.get(name, [])
        return found

    @property
    def wants_topology(self) -> bool:
        """Whether the request needs exact CPUs, memory or devices of a host."""
        return self.spec.numa_topology is not None or bool(self.spec.pci_requests)

    @property
    def is_detailed(self) -> bool:
        """Whether its claims have details: an exact topology, or resource classes."""
        return self.wants_topology or bool(self.resources)

    @property
    def flavor(self) -> Flavor | None:
        """The flavor of its servers; None: it is for something else."""
        return self.spec.flavor if isinstance(self.spec, RequestSpec) else None

    @property
    def image(self) -> ImageMeta | None:
        """The image of its servers, if they have one."""
        return self.spec.image if isinstance(self.spec, RequestSpec) else None

    def extra_specs(self) -> Mapping[str, str]:
        """Return the extra specs of the flavor, or nothing without a flavor."""
        return self.flavor.extra_specs if self.flavor else {}

    def image_properties(self) -> Mapping[str, str]:
        """Return the properties of the image, or nothing without an image."""
        return self.image.properties if self.image else {}


def asked_by(spec: ResourceRequest) -> Amounts:
    """Return the amounts that one instance takes of the classes that each host counts.

    :raises roost.exception.Invalid: when the request has a negative amount, or one that is beyond
        :data:`roost.objects.inventory.LARGEST`
    """
    _check_amounts(spec.resources)
    named = {name: spec.resources[name] for name in HOST_CLASSES if name in spec.resources}
    if not isinstance(spec, RequestSpec):
        return named
    sizes = sizes_of(spec.flavor, spec.image, spec.numa_topology)
    asked = total([sizes, named]) if named else sizes
    _check_amounts(asked, least=-LARGEST)
    return asked


def _check_amounts(amounts: Amounts, *, least: int = 0) -> None:
    values = amounts.values()
    if values and not (least <= min(values) and max(values) <= LARGEST):
        raise exception.Invalid(f"Resources must be from 0 to {LARGEST}, not {dict(amounts)}.")


def grouped(spec: ResourceRequest) -> ResourceGroups:
    """Return what one instance takes of all other resource classes, which inventories count.

    :raises roost.exception.Invalid: when the groups of the request are not clear
    """
    resource_groups.check_request(spec.resource_groups, policy=spec.group_policy)
    specs, properties, ports = {}, {}, []
    if isinstance(spec, RequestSpec):
        specs, properties = spec.flavor.extra_specs, spec.image.properties if spec.image else {}
        ports = spec.port_resources
    return resource_groups.requested_by(
        specs,
        properties,
        amounts={name: spec.resources[name] for name in spec.resources if name not in HOST_CLASSES},
        required=spec.required_traits,
        forbidden=spec.forbidden_traits,
        groups=spec.resource_groups,
        isolated=spec.group_policy == resource_groups.ISOLATE,
        ports=ports,
    )


def hinted_instances(spec: ResourceRequest) -> list[str]:
    """Return the instances that the hints name, whose hosts the decision needs."""
    return [uuid for hint in _HINTS for uuid in spec.hints.get(hint, ())]


def tried_hosts(spec: ResourceRequest) -> list[tuple[str, str | None]]:
    """Return (host, node) of each failed build; node None: any."""
    return [(tried.host, tried.node) for tried in spec.retry.tried] if spec.retry else []


def rules_out(spec: ResourceRequest, *, host: str, node: str) -> bool:
    """Return whether the request ignores this host or was tried on it."""
    tried = tried_hosts(spec)
    return host in spec.ignore_hosts or (host, None) in tried or (host, node) in tried
