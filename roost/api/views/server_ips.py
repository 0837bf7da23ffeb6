"""Addresses of servers as JSON."""

from collections.abc import Sequence
from typing import Any

from roost.objects import Vif

Addresses = dict[str, list[dict[str, Any]]]


def by_network(vifs: Sequence[Vif]) -> Addresses:
    """Return the addresses by the network's name."""
    found: Addresses = {}
    for vif in vifs:
        told = {"version": 6 if ":" in vif.ip else 4, "addr": vif.ip}
        found.setdefault(vif.network_name, []).append(told)
    return found
