"""The node's CPUs that guests share, and those that are dedicated to one guest each."""

import dataclasses
import re
from collections.abc import Iterable
from typing import Final, Self

from oslo_config import cfg

from roost import exception
from roost.objects import NUMACell

_PART: Final = re.compile(r"(\^?)\s*(\d{1,5})(?:\s*-\s*(\d{1,5}))?", re.ASCII)


@dataclasses.dataclass(frozen=True)
class CpuSets:
    """The operator's CPU sets; None: not set.

    If neither is set, guests share all CPUs; if only ``dedicated`` is, they share none.
    """

    shared: frozenset[int] | None = None
    dedicated: frozenset[int] | None = None

    def __post_init__(self) -> None:
        both = (self.shared or frozenset()) & (self.dedicated or frozenset())
        if both:
            raise exception.Invalid(
                f"CPU {_listed(both)} is in [compute] cpu_shared_set and in cpu_dedicated_set: it"
                " can be in one of them."
            )

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        group = conf.compute
        return cls(
            shared=parse("cpu_shared_set", group.cpu_shared_set),
            dedicated=parse("cpu_dedicated_set", group.cpu_dedicated_set),
        )

    @property
    def are_set(self) -> bool:
        """Whether guests that share CPUs are confined to a set."""
        return self.shared is not None or self.dedicated is not None

    def divide(self, cells: Iterable[NUMACell]) -> tuple[NUMACell, ...]:
        """Return cells with their CPUs divided into shared and dedicated ones.

        :raises roost.exception.Invalid: when a set names a CPU that the host does not have
        """
        found = tuple(cells)
        there = {cpu for cell in found for cpu in cell.cpus}
        for name, cpus in (("shared", self.shared), ("dedicated", self.dedicated)):
            missing = (cpus or frozenset()) - there
            if missing:
                raise exception.Invalid(
                    f"[compute] cpu_{name}_set names CPU {_listed(missing)}, which this host does"
                    " not have (online)."
                )
        return tuple(self._divided(cell) for cell in found) if self.are_set else found

    def _divided(self, cell: NUMACell) -> NUMACell:
        made = cell.obj_clone()
        made.cpus = sorted((self.shared or frozenset()).intersection(cell.cpus))
        made.pcpus = sorted((self.dedicated or frozenset()).intersection(cell.cpus))
        return made


def parse(name: str, text: str | None) -> frozenset[int] | None:
    """Parse a set such as ``0-7,^3``; None or blank text: not set.

    :raises roost.exception.Invalid: when it is no set, or an empty one
    """
    if text is None or not text.strip():
        return None
    wanted: set[int] = set()
    unwanted: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise exception.Invalid(f"[compute] {name} is no set of CPUs such as 0-7,^3: '{text}'")
        first, last = int(match[2]), int(match[3] or match[2])
        (unwanted if match[1] else wanted).update(range(first, last + 1))
    if not wanted - unwanted:
        raise exception.Invalid(f"[compute] {name} names no CPU: '{text}'")
    return frozenset(wanted - unwanted)


def _listed(cpus: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(cpus)))
