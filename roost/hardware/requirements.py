"""Checks that flavor and image go together, and their host requirements beyond sizes.

Used by all that take a flavor, an image or both for a server: creates, rebuilds, rescues, and
roost-manage, which reports the outcome in advance.
"""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Final

from roost import exception
from roost.hardware import names, resource_groups, rules
from roost.hardware.numa import numa_topology_of
from roost.hardware.pci_aliases import NUMA_POLICIES, PciAlias
from roost.hardware.properties import HardwareProperties
from roost.objects import Flavor, ImageMeta, InstanceNUMATopology, PciRequest

_ALIASES: Final = "pci_passthrough:alias"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Requirements:
    """The fields of a RequestSpec with the same names."""

    numa_topology: InstanceNUMATopology | None = None
    pci_requests: Sequence[PciRequest] = ()


def requirements_of(
    flavor: Flavor, image: ImageMeta | None, aliases: Mapping[str, PciAlias]
) -> Requirements:
    """Return the requirements of a new server, if this flavor and image are compatible.

    :param image: None: any
    :raises roost.exception.Invalid: naming what is unsupported, contradictory or does not fit
    """
    names.check(flavor, image)
    resource_groups.check(flavor)
    if image is not None:
        _check_fit(flavor, image)
    rules.check(flavor, image)
    return Requirements(
        numa_topology=numa_topology_of(flavor, image),
        pci_requests=pci_requests_of(flavor, image, aliases=aliases),
    )


def complaints_of(flavor: Flavor, aliases: Mapping[str, PciAlias]) -> list[str]:
    """Return why a flavor boots with no image at all, except for names that are refused."""
    found = [*rules.complaints(flavor, None), *resource_groups.complaints(flavor)]
    for find in (numa_topology_of, functools.partial(pci_requests_of, aliases=aliases)):
        try:
            find(flavor, None)
        except exception.Invalid as error:
            found.append(error.message)
    return found


def check_other_image(flavor: Flavor, image: ImageMeta, *, before: ImageMeta | None) -> None:
    """Make sure that a server of this flavor may have another image, or the same once more.

    The server keeps its flavor: only problems that the image adds are reported.

    :raises roost.exception.Invalid: naming what is unsupported, contradictory or does not fit
    """
    names.check_image(image, before=before)
    _check_fit(flavor, image)
    known = rules.complaints(flavor, before)
    for complaint in rules.complaints(flavor, image):
        if complaint not in known:
            raise exception.Invalid(complaint)


def check_rescue_image(flavor: Flavor, image: ImageMeta, *, own: ImageMeta | None) -> None:
    """Make sure that a server may be rescued from an image, beside its own disks.

    :raises roost.exception.Invalid: naming what is unsupported or impossible
    """
    names.check_image(image)
    found = rules.rescue_device(HardwareProperties(flavor, image))
    if found is not None:
        rules.check_own_bus(HardwareProperties(flavor, own), "hw_rescue_bus", found[1])


def pci_requests_of(
    flavor: Flavor, image: ImageMeta | None, *, aliases: Mapping[str, PciAlias]
) -> list[PciRequest]:
    """Return the devices that a flavor requests, with the image's NUMA affinity policy.

    :raises roost.exception.Invalid: for contradictory or impossible requests
    """
    policy = HardwareProperties(flavor, image).one_of(
        "pci_numa_affinity_policy", NUMA_POLICIES, called="PCI NUMA affinity policy"
    )
    asked = flavor.extra_specs.get(_ALIASES, "").strip()
    return [_pci_request(part, aliases, policy) for part in (asked.split(",") if asked else [])]


def _check_fit(flavor: Flavor, image: ImageMeta) -> None:
    if image.status != "active":
        raise exception.Invalid(f"Image {image.id} is not active.")
    if flavor.memory_mb < image.min_ram:
        raise exception.Invalid("Flavor's memory is too small for requested image.")
    least_disk = max(image.min_disk, math.ceil(image.size / 2**30))
    if 0 < flavor.root_gb < least_disk:
        raise exception.Invalid(
            "Flavor's disk is too small for requested image. Flavor disk is "
            f"{flavor.root_gb} GiB, the image needs {least_disk} GiB."
        )


def _pci_request(part: str, aliases: Mapping[str, PciAlias], policy: str | None) -> PciRequest:
    name, _, count = (text.strip() for text in part.partition(":"))
    if not (count.isascii() and count.isdigit() and int(count) > 0):
        raise exception.Invalid(
            f"Invalid {_ALIASES} '{part.strip()}': it must read name:count, as in gpu:1"
        )
    if name not in aliases:
        raise exception.Invalid(f"PCI alias {name} is not defined")
    alias = aliases[name]
    return PciRequest.of(
        alias=name,
        count=int(count),
        specs=[dict(spec) for spec in alias.specs],
        numa_policy=policy or alias.numa_policy,
    )
