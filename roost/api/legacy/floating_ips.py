"""Actions that add or remove fixed and floating IPs of a server, until 2.43.

The network service makes the change with the user's token; then the API requests the host to
refresh the ports of the server.
"""

import logging
from typing import Final

from roost import exception
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerRef
from roost.api.policy import MEMBER, Rule
from roost.api.request import Answer, Call
from roost.api.servers.server_action import action
from roost.api.validation import of
from roost.objects import ExternalEvent, network

LOG = logging.getLogger(__name__)


class ServerAddresses:
    """Actions on servers."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._proxies = dependencies.networking.proxies

    def add_fixed(self, call: Call, server_ref: ServerRef) -> Answer:
        network_id = call.body["addFixedIp"]["networkId"]
        self._proxies.add_fixed(call, server_ref.instance, network_id)
        return _changed(call, server_ref)

    def remove_fixed(self, call: Call, server_ref: ServerRef) -> Answer:
        address = call.body["removeFixedIp"]["address"]
        self._proxies.remove_fixed(call, server_ref.instance, address)
        return _changed(call, server_ref)

    def add_floating(self, call: Call, server_ref: ServerRef) -> Answer:
        asked = call.body["addFloatingIp"]
        fixed = asked.get("fixed_address")
        self._proxies.associate(call, server_ref.instance, asked["address"], fixed_address=fixed)
        return _changed(call, server_ref)

    def remove_floating(self, call: Call, server_ref: ServerRef) -> Answer:
        address = call.body["removeFloatingIp"]["address"]
        self._proxies.dissociate(call, server_ref.instance, address)
        return _changed(call, server_ref)


def _changed(call: Call, server_ref: ServerRef) -> Answer:
    """Ask the host of a server to refresh its ports; may be lost, Neutron sends an event, too."""
    instance, cell = server_ref.instance, server_ref.cell
    if cell is not None and instance.host is not None:
        event = ExternalEvent.of(
            name=network.NETWORK_CHANGED,
            instance_uuid=instance.uuid,
            status=network.COMPLETED,
            tag=None,
        )
        try:
            cell.compute.on(instance.host).external_instance_events(call.context, events=[event])
        except exception.Unavailable as error:
            LOG.warning("host %s was not notified of addresses: %s", instance.host, error.message)
    return Answer()


_LAST: Final = 43
_FIXED: Final = "os_compute_api:os-multinic"
_FLOATING: Final = "os_compute_api:os-floating-ips"
_NETWORK: Final = {"type": ["string", "integer"], "minLength": 1, "maxLength": 255}
_IP: Final = {"type": "string", "format": "ip"}

ACTIONS: Final = (
    action(
        "addFixedIp",
        lambda dependencies: ServerAddresses(dependencies).add_fixed,
        Rule(f"{_FIXED}:add", MEMBER, "Add an address to a server, before 2.44.", formerly=_FIXED),
        of({"networkId": _NETWORK}, required=["networkId"]),
        until=_LAST,
    ),
    action(
        "removeFixedIp",
        lambda dependencies: ServerAddresses(dependencies).remove_fixed,
        Rule(
            f"{_FIXED}:remove",
            MEMBER,
            "Remove an address from a server, before 2.44.",
            formerly=_FIXED,
        ),
        of({"address": _IP}, required=["address"]),
        until=_LAST,
    ),
    action(
        "addFloatingIp",
        lambda dependencies: ServerAddresses(dependencies).add_floating,
        Rule(
            f"{_FLOATING}:add",
            MEMBER,
            "Add a floating address to a server, before 2.44.",
            formerly=_FLOATING,
        ),
        of({"address": _IP, "fixed_address": _IP}, required=["address"]),
        until=_LAST,
    ),
    action(
        "removeFloatingIp",
        lambda dependencies: ServerAddresses(dependencies).remove_floating,
        Rule(
            f"{_FLOATING}:remove",
            MEMBER,
            "Remove a floating address, before 2.44.",
            formerly=_FLOATING,
        ),
        of({"address": _IP}, required=["address"]),
        until=_LAST,
    ),
)
