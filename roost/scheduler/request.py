"""One question to a driver: plain values, and the RequestSpec for plug-ins that want more."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final, Self

from roost.db.scheduler.hosts import RESOURCES, Amounts
from roost.objects import RequestSpec
from roost.objects.topology import sizes_of

_HINTS: Final = ("same_host", "different_host")


@dataclasses.dataclass
class Request:
    """Hosts for the instances of one request.

    ``placed`` has an entry per instance: the row of the host it holds a claim on and keeps, or
    None. ``asked`` is what each instance takes. ``group_counts`` says how many members of the
    request's server group are on each row, those just placed included; ``rows_of`` on which row
    the instances are that hints name.
    """

    spec: RequestSpec
    asked: Amounts
    placed: Sequence[int | None]
    alternates: int
    group_counts: dict[int, int]
    rows_of: Mapping[str, int]

    @classmethod
    def of(
        cls,
        spec: RequestSpec,
        *,
        placed: Sequence[int | None] = (None,),
        alternates: int = 0,
        group_counts: dict[int, int] | None = None,
        rows_of: Mapping[str, int] | None = None,
    ) -> Self:
        counts = {} if group_counts is None else group_counts
        return cls(spec, asked_by(spec), placed, alternates, counts, rows_of or {})

    @property
    def unplaced(self) -> int:
        """How many instances still need a host."""
        return sum(1 for row in self.placed if row is None)

    def asked_of(self, resource: str) -> int:
        return self.asked[RESOURCES.index(resource)]

    def hint(self, name: str) -> list[str]:
        """Return what the user hinted under this name; nothing: an empty list."""
        found: list[str] = self.spec.hints.get(name, [])
        return found

    @property
    def wants_topology(self) -> bool:
        """Whether exact CPUs, memory or devices of a host are asked for."""
        return self.spec.numa_topology is not None or bool(self.spec.pci_requests)

    def extra_specs(self) -> Mapping[str, str]:
        found: Mapping[str, str] = self.spec.flavor.extra_specs
        return found

    def image_properties(self) -> Mapping[str, str]:
        """Return the properties of the image, which may be missing."""
        return self.spec.image.properties if self.spec.image else {}


def asked_by(spec: RequestSpec) -> Amounts:
    """Return what one instance takes of its host, in the order of ``RESOURCES``."""
    return (*sizes_of(spec.flavor, spec.image, spec.numa_topology), 1)


def hinted_instances(spec: RequestSpec) -> list[str]:
    """Return the instances that the user's hints name, whose hosts a decision must know."""
    return [uuid for hint in _HINTS for uuid in spec.hints.get(hint, ())]


def tried_hosts(spec: RequestSpec) -> list[tuple[str, str | None]]:
    """Return host and node (None: any) of each build that failed before."""
    return [(tried.host, tried.node) for tried in spec.retry.tried] if spec.retry else []


def rules_out(spec: RequestSpec, *, host: str, node: str) -> bool:
    """Tell whether the request wants to be rid of this host."""
    tried = tried_hosts(spec)
    return host in spec.ignore_hosts or (host, None) in tried or (host, node) in tried
