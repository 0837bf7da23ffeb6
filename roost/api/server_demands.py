"""What a new server demands of its host beyond sizes: NUMA cells and PCI devices."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

from roost import exception
from roost.api.pci_aliases import NUMA_POLICIES, PciAlias
from roost.api.server_numa import numa_topology_of
from roost.objects import Flavor, ImageMeta, InstanceNUMATopology, PciRequest, hardware_values
from roost.objects.hardware_words import HardwareWords

_ALIASES: Final = "pci_passthrough:alias"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Demands:
    """What a RequestSpec asks for under the same names."""

    numa_topology: InstanceNUMATopology | None = None
    pci_requests: Sequence[PciRequest] = ()


def demands_of(flavor: Flavor, image: ImageMeta, aliases: Mapping[str, PciAlias]) -> Demands:
    """Read the extra specs of a flavor and the properties of an image.

    :raises roost.exception.Invalid: for what contradicts itself, or cannot be had
    """
    hardware_values.check(flavor, image)
    return Demands(
        numa_topology=numa_topology_of(flavor, image),
        pci_requests=_pci_requests(flavor, image, aliases),
    )


def _pci_requests(
    flavor: Flavor, image: ImageMeta, aliases: Mapping[str, PciAlias]
) -> list[PciRequest]:
    policy = HardwareWords(flavor, image).one_of(
        "pci_numa_affinity_policy", NUMA_POLICIES, called="PCI NUMA affinity policy"
    )
    asked = flavor.extra_specs.get(_ALIASES, "").strip()
    return [_pci_request(part, aliases, policy) for part in (asked.split(",") if asked else [])]


def _pci_request(part: str, aliases: Mapping[str, PciAlias], policy: str | None) -> PciRequest:
    name, _, count = (word.strip() for word in part.partition(":"))
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
