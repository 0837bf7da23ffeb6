"""Interfaces of a server as Compute's JSON."""

from typing import Any, Final

from roost.objects import Vif

_TAGGED: Final = 70


def full(vif: Vif, *, version: int) -> dict[str, Any]:
    """Return an interface; since 2.70 with the tag by which its guest knows it."""
    shown = {
        "port_state": "ACTIVE" if vif.active else "DOWN",
        "fixed_ips": [{"subnet_id": one.subnet_id, "ip_address": one.ip} for one in vif.addresses],
        "mac_addr": vif.mac,
        "net_id": vif.network_id,
        "port_id": vif.id,
    }
    return {**shown, "tag": vif.tag} if version >= _TAGGED else shown
