"""Quotas as JSON."""

from collections.abc import Mapping

from roost.api import quota_resources


def limits(found: Mapping[str, int], *, version: int) -> dict[str, int]:
    """Return the limits of a project."""
    return {name: found[name] for name in quota_resources.of_sets(version)}


def class_limits(found: Mapping[str, int], *, version: int) -> dict[str, int]:
    """Return the limits of a class."""
    return {name: found[name] for name in quota_resources.of_classes(version)}


def detailed(
    found: Mapping[str, int], used: Mapping[str, int], *, version: int
) -> dict[str, dict[str, int]]:
    """Return limits and usage. Nothing is ever reserved: what is asked for is in use at once."""
    return {
        name: {"in_use": used.get(name, 0), "limit": found[name], "reserved": 0}
        for name in quota_resources.of_sets(version)
    }
