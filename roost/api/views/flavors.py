"""Flavors as JSON."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from roost.api.views.base import links
from roost.objects import Flavor

DESCRIPTION: Final = 55
EXTRA_SPECS: Final = 61
ZERO_SWAP: Final = 75  # before, no swap was an empty string
NO_LEFTOVERS: Final = 102  # since 2.102 neither is told what nothing heeds


def brief(flavor: Flavor, *, version: int, base_url: str) -> dict[str, Any]:
    """Return a flavor of a plain list."""
    shown: dict[str, Any] = {
        "id": flavor.flavorid,
        "name": flavor.name,
        "links": links(base_url, "flavors", flavor.flavorid),
    }
    if version >= DESCRIPTION:
        shown["description"] = flavor.description
    return shown


def access(flavorid: str, projects: Iterable[str]) -> dict[str, Any]:
    """Return who may use a flavor that is not public."""
    return {"flavor_access": [{"flavor_id": flavorid, "tenant_id": one} for one in projects]}


def full(flavor: Flavor, *, version: int, base_url: str, with_specs: bool = True) -> dict[str, Any]:
    """Return a flavor with all its sizes.

    :param with_specs: whether the caller may see its extra specs
    """
    shown = {
        **brief(flavor, version=version, base_url=base_url),
        "ram": flavor.memory_mb,
        "disk": flavor.root_gb,
        "swap": flavor.swap or (0 if version >= ZERO_SWAP else ""),
        "vcpus": flavor.vcpus,
        "OS-FLV-EXT-DATA:ephemeral": flavor.ephemeral_gb,
        "os-flavor-access:is_public": flavor.is_public,
    }
    if version < NO_LEFTOVERS:
        shown["OS-FLV-DISABLED:disabled"] = flavor.disabled
        shown["rxtx_factor"] = flavor.rxtx_factor
    if version >= EXTRA_SPECS and with_specs:
        shown["extra_specs"] = dict(flavor.extra_specs)
    return shown


def embedded(flavor: Flavor, *, with_specs: bool = True) -> Mapping[str, Any]:
    """Return what a server tells of its flavor since 2.47."""
    shown: dict[str, Any] = {
        "original_name": flavor.name,
        "vcpus": flavor.vcpus,
        "ram": flavor.memory_mb,
        "disk": flavor.root_gb,
        "ephemeral": flavor.ephemeral_gb,
        "swap": flavor.swap,
    }
    if with_specs:
        shown["extra_specs"] = dict(flavor.extra_specs)
    return shown
