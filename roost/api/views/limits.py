"""Limits as JSON."""

from collections.abc import Mapping
from typing import Any, Final

from roost.api.quota_resources import NO_FILES, NO_NETWORKS

NO_IMAGE_METADATA: Final = 39  # since 2.39 what images may have is left to the image service

# What is told: until which microversion, under which name, and of which resource.
_LIMITS: Final = (
    (NO_IMAGE_METADATA - 1, "maxImageMeta", "metadata_items"),
    (NO_FILES - 1, "maxPersonality", "injected_files"),
    (NO_FILES - 1, "maxPersonalitySize", "injected_file_content_bytes"),
    (NO_NETWORKS - 1, "maxSecurityGroupRules", "security_group_rules"),
    (NO_NETWORKS - 1, "maxSecurityGroups", "security_groups"),
    (None, "maxServerGroupMembers", "server_group_members"),
    (None, "maxServerGroups", "server_groups"),
    (None, "maxServerMeta", "metadata_items"),
    (None, "maxTotalCores", "cores"),
    (NO_NETWORKS - 1, "maxTotalFloatingIps", "floating_ips"),
    (None, "maxTotalInstances", "instances"),
    (None, "maxTotalKeypairs", "key_pairs"),
    (None, "maxTotalRAMSize", "ram"),
)
_USED: Final = (
    (None, "totalCoresUsed", "cores"),
    (NO_NETWORKS - 1, "totalFloatingIpsUsed", "floating_ips"),
    (None, "totalInstancesUsed", "instances"),
    (None, "totalRAMUsed", "ram"),
    (NO_NETWORKS - 1, "totalSecurityGroupsUsed", "security_groups"),
    (None, "totalServerGroupsUsed", "server_groups"),
)


def full(limits: Mapping[str, int], used: Mapping[str, int], *, version: int) -> dict[str, Any]:
    """Return the limits and the usage of a project."""

    def told(until: int | None) -> bool:
        return until is None or version <= until

    absolute = {name: limits[resource] for until, name, resource in _LIMITS if told(until)}
    absolute |= {name: used.get(resource, 0) for until, name, resource in _USED if told(until)}
    return {"limits": {"rate": [], "absolute": absolute}}
