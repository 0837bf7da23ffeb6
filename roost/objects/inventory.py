"""Resource classes: what hosts have of anything countable, and what flavors request of it."""

import re
from collections.abc import Mapping
from typing import Final

from oslo_versionedobjects import fields

from roost.objects import base
from roost.objects.flavor import Flavor
from roost.objects.host import HostReport

CUSTOM: Final = re.compile(r"CUSTOM_[A-Z0-9_]{1,248}")
_REQUEST: Final = "resources:"
# The standard classes that hosts report, and their amounts in a report.
STANDARD_CLASSES: Final[Mapping[str, str]] = {
    "VCPU": "vcpus",
    "MEMORY_MB": "memory_mb",
    "DISK_GB": "disk_gb",
    "PCPU": "pcpus",
}
# In the order of the ``holdings`` of a report.
HOLDING: Final = ("VCPU", "PCPU", "MEMORY_MB", "DISK_GB")
PCPU: Final = "PCPU"  # without reserve and ratio


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


def resources_of(flavor: Flavor) -> dict[str, int]:
    """Return what an instance of a flavor uses of custom resource classes, by class.

    Extra specs ``resources:CUSTOM_...``; the API has checked that they are whole numbers.
    """
    found = {}
    for name, value in sorted(flavor.extra_specs.items()):
        resource_class = name.removeprefix(_REQUEST)
        if resource_class != name and CUSTOM.fullmatch(resource_class) and value.strip().isdigit():
            found[resource_class] = int(value)
    return {resource_class: amount for resource_class, amount in found.items() if amount}


def inventories_of(report: HostReport) -> list[ResourceInventory]:
    """Return the inventories of a node: the standard classes that it has, and its custom ones."""
    standard = [_standard(report, name) for name in STANDARD_CLASSES]
    return [*(one for one in standard if one.total), *report.inventories]


def _standard(report: HostReport, resource_class: str) -> ResourceInventory:
    name = STANDARD_CLASSES[resource_class]
    total, used = getattr(report, name), getattr(report, f"{name}_used")
    if resource_class == PCPU:
        limits = {}
    else:
        reserved, ratio = getattr(report, f"{name}_reserved"), getattr(report, f"{name}_ratio")
        limits = {"reserved": reserved, "allocation_ratio": ratio}
    return ResourceInventory.of(
        resource_class=resource_class, total=total, max_unit=total, used=used, **limits
    )
