"""Resource classes: what hosts have of anything countable, and what flavors request of it."""

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, Protocol, Self

import os_resource_classes
import os_traits
from oslo_versionedobjects import fields

from roost.objects import base
from roost.objects.allocations import Allocations
from roost.objects.bounds import LONGEST, MOST, is_amount
from roost.objects.host import HostReport, uuid_of_provider

_CUSTOM: Final = re.compile(r"CUSTOM_[A-Z0-9_]{1,248}")
_PROVIDER_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}")
# The classes that hosts count by the sizes of their instances.
HOST_CLASSES: Final[Sequence[str]] = ("VCPU", "MEMORY_MB", "DISK_GB", "PCPU")
LARGEST: Final = 2**62
"""The largest capacity: beyond it, whatever the ratio, a resource is as good as unlimited."""
_AMOUNTS: Final = ("total", "reserved", "min_unit", "max_unit", "step_size")


def capacity(net: int, ratio: float) -> int:
    """Return how much instances may use of an amount that is overcommitted by a ratio."""
    return int(max(0, min(net * ratio, LARGEST)))


@base.VersionedObjectRegistry.register
class ResourceInventory(base.RoostObject):
    """What a host has of one resource class, by the terms of OpenStack's Placement.

    All instances together may use ``(total - reserved) * allocation_ratio``; each uses at least
    ``min_unit`` and at most ``max_unit`` (:meth:`of`: the total, if it is left out), in steps of
    ``step_size``. Schedulers set ``used``: how much is claimed.
    """

    VERSION = "1.0"
    fields = {
        "resource_class": fields.StringField(),
        "total": fields.IntegerField(),
        "reserved": fields.IntegerField(default=0),
        "min_unit": fields.IntegerField(default=1),
        "max_unit": fields.IntegerField(),
        "step_size": fields.IntegerField(default=1),
        "allocation_ratio": fields.FloatField(default=1.0),
        "used": fields.IntegerField(default=0),
    }

    @classmethod
    def of(cls, **values: Any) -> Self:
        total = values.get("total")
        return super().of(**{"max_unit": max(1, total) if isinstance(total, int) else 1} | values)

    @property
    def capacity(self) -> int:
        """How much all instances together may use."""
        return capacity(self.total - self.reserved, self.allocation_ratio)

    @property
    def is_overcommitted(self) -> bool:
        """Whether more is claimed than there is: it became less, and nobody loses what he has."""
        return bool(self.used > self.capacity)

    def complaint(self) -> str | None:
        """Return what is impossible about its numbers; None: nothing."""
        name, ratio = self.resource_class, self.allocation_ratio
        for each in _AMOUNTS:
            if not is_amount(getattr(self, each)):
                return f"{name} cannot have such a {each}: it is from 0 to {MOST}"
        limits = f"{self.min_unit} and at most {self.max_unit}, in steps of {self.step_size}"
        if self.reserved > self.total:
            return f"{name} cannot have {self.reserved} of {self.total} reserved"
        if not 0 < ratio < float("inf"):
            return f"{name} cannot have the allocation ratio {ratio}"
        if min(self.min_unit, self.step_size) < 1:
            return f"{name} cannot have at least {limits} for each server"
        if self.total and self.max_unit // self.step_size * self.step_size < self.min_unit:
            return f"{name} cannot have at least {limits}: none of these is divisible"
        return None


@base.VersionedObjectRegistry.register
class ResourceProvider(base.RoostObject):
    """A part of a host with inventories and traits of its own, such as a GPU or a NUMA cell.

    ``parent`` is the name of the part that it belongs to; empty: the host itself. ``uuid``: by
    which another service knows it; None: it is derived from the names of node and part.
    """

    # 1.1: uuid
    VERSION = "1.1"
    fields = {
        "name": fields.StringField(),
        "uuid": fields.UUIDField(nullable=True, default=base.NOTHING),
        "parent": fields.StringField(default=""),
        "traits": fields.ListOfStringsField(default=[]),
        "inventories": fields.ListOfObjectsField("ResourceInventory", default=[]),
    }


def handed_out(allocations: Allocations) -> dict[str, dict[str, int]]:
    """Return what a host must hand out to an instance: all but the ``HOST_CLASSES``."""
    found = {
        provider: {name: amounts[name] for name in amounts if name not in HOST_CLASSES}
        for provider, amounts in allocations.items()
    }
    return {provider: amounts for provider, amounts in found.items() if amounts}


def is_class(name: str) -> bool:
    """Return whether a name is one of a resource class, standard or custom."""
    return name in os_resource_classes.STANDARDS or _CUSTOM.fullmatch(name) is not None


def is_trait(name: str) -> bool:
    """Return whether a name is one of a trait, standard or custom."""
    return name in standard_traits() or _CUSTOM.fullmatch(name) is not None


@functools.cache
def standard_traits() -> frozenset[str]:
    """Return the names of os-traits."""
    return frozenset(os_traits.get_traits())


def complaint_about(
    inventories: Iterable[ResourceInventory],
    traits: Iterable[str],
    providers: Iterable[ResourceProvider] = (),
) -> str | None:
    """Return what is wrong with what a host is said to have; None: nothing."""
    inventories = list(inventories)
    found = [*map(_wrong_inventory, inventories), *map(_wrong_trait, traits)]
    if not any(found):
        found.append(twice(inventories))
    names: set[str] = set()
    for part in providers:
        if (missing := incomplete(part, ResourceProvider)) is not None:
            return missing
        if not _PROVIDER_NAME.fullmatch(part.name) or part.name in names:
            found.append(f"a provider cannot be named {part.name[:LONGEST]!r}, or two are")
        names.add(part.name)
        inner = complaint_about(part.inventories, part.traits)
        found.append(inner and f"{part.name}: {inner}")
    return next((text for text in found if text), None)


def twice(inventories: Iterable[ResourceInventory]) -> str | None:
    """Return that two of a provider's inventories are of one class; None: they are not."""
    names: set[str] = set()
    for one in inventories:
        if one.resource_class in names:
            return f"there are two inventories of {one.resource_class}"
        names.add(one.resource_class)
    return None


def incomplete(one: Any, kind: type[base.RoostObject]) -> str | None:
    """Return which fields an object of this kind lacks; None: none."""
    if not isinstance(one, kind):
        return f"{type(one).__name__} is no {kind.__name__}"
    missing = sorted(kind.fields.keys() - one.values().keys())
    return f"a {kind.__name__} has no {', '.join(missing)}" if missing else None


def _wrong_inventory(one: ResourceInventory) -> str | None:
    if (missing := incomplete(one, ResourceInventory)) is not None:
        return missing
    name = one.resource_class
    if name in HOST_CLASSES:
        return f"the host itself counts its {name}"
    if not is_class(name):
        return f"{name[:LONGEST]!r} is no resource class: a class of your own begins with CUSTOM_"
    return one.complaint()


def _wrong_trait(name: str) -> str | None:
    if isinstance(name, str) and is_trait(name):
        return None
    return f"{str(name)[:LONGEST]!r} is no trait: one of your own begins with CUSTOM_"


class _Named(Protocol):
    """A provider, with the name of the one that it belongs to."""

    @property
    def name(self) -> str: ...

    @property
    def parent(self) -> str: ...


def orphans_among(providers: Iterable[_Named]) -> set[str]:
    """Return the names of providers that do not belong to the host by their parents."""
    known, left = {""}, {one.name: one.parent for one in providers}
    while found := {name for name, parent in left.items() if parent in known}:
        known |= found
        for name in found:
            del left[name]
    return set(left)


def providers_of(report: HostReport) -> Iterator[tuple[str, ResourceProvider]]:
    """Yield the uuid of each provider of a node, and the provider; first the node, named ""."""
    root = {"name": "", "traits": list(report.traits), "inventories": report.inventories}
    yield report.node_uuid, ResourceProvider.of(**root)
    for one in report.providers:
        yield one.uuid or uuid_of_provider(report.node_uuid, one.name), one
