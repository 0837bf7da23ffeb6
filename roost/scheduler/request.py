"""One question to a driver: plain values, and the RequestSpec for plug-ins that want more."""

import dataclasses
from collections.abc import Sequence
from typing import Self

from roost.db.scheduler.hosts import RESOURCES, Amounts
from roost.objects import RequestSpec
from roost.objects.flavor import disk_gb


@dataclasses.dataclass(frozen=True)
class Request:
    """Hosts for the instances of one request.

    ``placed`` has an entry per instance: the row of the host it holds a claim on and keeps, or
    None. ``asked`` is what each instance takes. A host whose last report is older than
    ``alive_since`` (seconds since the epoch) counts as down.
    """

    spec: RequestSpec
    asked: Amounts
    placed: Sequence[int | None]
    alternates: int
    alive_since: float

    @classmethod
    def of(
        cls,
        spec: RequestSpec,
        *,
        placed: Sequence[int | None],
        alternates: int = 0,
        alive_since: float = 0.0,
    ) -> Self:
        return cls(spec, asked_by(spec), placed, alternates, alive_since)

    @property
    def unplaced(self) -> int:
        """How many instances still need a host."""
        return sum(1 for row in self.placed if row is None)

    def asked_of(self, resource: str) -> int:
        return self.asked[RESOURCES.index(resource)]


def asked_by(spec: RequestSpec) -> Amounts:
    """Return what one instance takes of its host, in the order of ``RESOURCES``."""
    flavor = spec.flavor
    return (flavor.vcpus, flavor.memory_mb, disk_gb(flavor))


def tried_hosts(spec: RequestSpec) -> list[tuple[str, str | None]]:
    """Return host and node (None: any) of each build that failed before."""
    return [(tried.host, tried.node) for tried in spec.retry.tried] if spec.retry else []


def rules_out(spec: RequestSpec, *, host: str, node: str) -> bool:
    """Tell whether the request wants to be rid of this host."""
    tried = tried_hosts(spec)
    return host in spec.ignore_hosts or (host, None) in tried or (host, node) in tried
