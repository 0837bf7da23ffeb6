"""Limits as JSON."""

from collections.abc import Mapping
from typing import Any, Final

NO_NETWORKS: Final = 36  # since 2.36 what is about networks is left to the network service
NO_FILES: Final = 57  # since 2.57 there are no injected files


def full(limits: Mapping[str, int], used: Mapping[str, int], *, version: int) -> dict[str, Any]:
    """Return the limits and the usage of a project; no server of ours belongs to a group."""
    absolute = {
        "maxTotalInstances": limits["instances"],
        "maxTotalCores": limits["cores"],
        "maxTotalRAMSize": limits["ram"],
        "totalInstancesUsed": used["instances"],
        "totalCoresUsed": used["cores"],
        "totalRAMUsed": used["ram"],
        "maxServerMeta": 128,
        "maxTotalKeypairs": 0,
        "maxServerGroups": 0,
        "maxServerGroupMembers": 0,
        "totalServerGroupsUsed": 0,
    }
    if version < NO_FILES:
        absolute |= {"maxPersonality": 0, "maxPersonalitySize": 0}
    if version < NO_NETWORKS:
        absolute |= {
            "maxSecurityGroups": -1,
            "maxSecurityGroupRules": -1,
            "maxTotalFloatingIps": -1,
            "totalSecurityGroupsUsed": 0,
            "totalFloatingIpsUsed": 0,
        }
    return {"limits": {"rate": [], "absolute": absolute}}
