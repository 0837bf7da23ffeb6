"""Resource classes: what hosts have of anything countable, and what flavors request of it."""

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

import os_resource_classes
import os_traits
from oslo_versionedobjects import fields

from roost.objects import base
from roost.objects.allocations import Allocations
from roost.objects.host import HostReport, uuid_of_provider

_CUSTOM: Final = re.compile(r"CUSTOM_[A-Z0-9_]{1,248}")
_PROVIDER_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}")
# The classes that hosts count by the sizes of their instances.
HOST_CLASSES: Final[Sequence[str]] = ("VCPU", "MEMORY_MB", "DISK_GB", "PCPU")


@base.VersionedObjectRegistry.register
class ResourceInventory(base.RoostObject):
    """What a host has of one resource class, by the terms of OpenStack's Placement.

    All instances together may use ``(total - reserved) * allocation_ratio``; each uses at least
    ``min_unit`` and at most ``max_unit``, in steps of ``step_size``. Schedulers set ``used``: how
    much is claimed.
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

    @property
    def capacity(self) -> int:
        """How much all instances together may use."""
        return int((self.total - self.reserved) * self.allocation_ratio)

    @property
    def is_overcommitted(self) -> bool:
        """Whether more is claimed than there is: it became less, and nobody loses what he has."""
        return bool(self.used > self.capacity)

    def complaint(self) -> str | None:
        """Return what is impossible about its numbers; None: nothing."""
        name, ratio = self.resource_class, self.allocation_ratio
        limits = f"{self.min_unit} and at most {self.max_unit}, in steps of {self.step_size}"
        if min(self.total, self.reserved) < 0:
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
    found = [*map(_wrong_inventory, inventories), *map(_wrong_trait, traits)]
    names: set[str] = set()
    for part in providers:
        if not _PROVIDER_NAME.fullmatch(part.name) or part.name in names:
            found.append(f"a provider cannot be named {part.name!r}, or two are")
        names.add(part.name)
        inner = complaint_about(part.inventories, part.traits)
        found.append(inner and f"{part.name}: {inner}")
    return next((text for text in found if text), None)


def _wrong_inventory(one: ResourceInventory) -> str | None:
    if one.resource_class in HOST_CLASSES:
        return f"the host itself counts its {one.resource_class}"
    return (
        one.complaint()
        if is_class(one.resource_class)
        else (
            f"{one.resource_class!r} is no resource class: a class of your own begins with CUSTOM_"
        )
    )


def _wrong_trait(name: str) -> str | None:
    return None if is_trait(name) else f"{name!r} is no trait: one of your own begins with CUSTOM_"


def orphans_among(providers: Collection[ResourceProvider]) -> set[str]:
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
