"""Flavors as JSON."""

from collections.abc import Mapping
from typing import Any, Final

from roost.api.views.base import links
from roost.objects import Flavor

DESCRIPTION: Final = 55
EXTRA_SPECS: Final = 61
ZERO_SWAP: Final = 75  # before, no swap was an empty string


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


def full(flavor: Flavor, *, version: int, base_url: str) -> dict[str, Any]:
    """Return a flavor with all its sizes."""
    shown = {
        **brief(flavor, version=version, base_url=base_url),
        "ram": flavor.memory_mb,
        "disk": flavor.root_gb,
        "swap": flavor.swap or (0 if version >= ZERO_SWAP else ""),
        "vcpus": flavor.vcpus,
        "OS-FLV-EXT-DATA:ephemeral": flavor.ephemeral_gb,
        "OS-FLV-DISABLED:disabled": flavor.disabled,
        "os-flavor-access:is_public": flavor.is_public,
        "rxtx_factor": flavor.rxtx_factor,
    }
    if version >= EXTRA_SPECS:
        shown["extra_specs"] = dict(flavor.extra_specs)
    return shown


def embedded(flavor: Flavor) -> Mapping[str, Any]:
    """Return what a server tells of its flavor since 2.47."""
    return {
        "original_name": flavor.name,
        "vcpus": flavor.vcpus,
        "ram": flavor.memory_mb,
        "disk": flavor.root_gb,
        "ephemeral": flavor.ephemeral_gb,
        "swap": flavor.swap,
        "extra_specs": dict(flavor.extra_specs),
    }
