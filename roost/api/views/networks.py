"""Networks as JSON, in the shapes of Network v2.0."""

from typing import Any

from roost.networks import LocalNetwork


def full(network: LocalNetwork) -> dict[str, Any]:
    """Return a network, which everybody shares."""
    return {
        "id": network.id,
        "name": network.name,
        "description": network.cidr,
        "status": "ACTIVE",
        "admin_state_up": True,
        "shared": True,
        "router:external": False,
        "mtu": 1500,
        "subnets": [],
        "tenant_id": "",
        "project_id": "",
        "tags": [],
    }
