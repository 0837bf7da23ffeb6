"""Actions that add or remove fixed and floating IPs of a server, until 2.43.

The network service makes the change with the user's token; then the API requests the host to
refresh the ports of the server.
"""

import logging
from collections.abc import Callable, Mapping

from roost import exception
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerRef
from roost.api.request import Answer, Call
from roost.objects import ExternalEvent, network

LOG = logging.getLogger(__name__)


class ServerAddresses:
    """Actions on servers."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._proxies = dependencies.networking.proxies

    @property
    def actions(self) -> Mapping[str, Callable[[Call, ServerRef], Answer]]:
        return {
            "addFixedIp": self._add_fixed,
            "removeFixedIp": self._remove_fixed,
            "addFloatingIp": self._add_floating,
            "removeFloatingIp": self._remove_floating,
        }

    def _add_fixed(self, call: Call, server_ref: ServerRef) -> Answer:
        network_id = call.body["addFixedIp"]["networkId"]
        self._proxies.add_fixed(call, server_ref.instance, network_id)
        return _changed(call, server_ref)

    def _remove_fixed(self, call: Call, server_ref: ServerRef) -> Answer:
        address = call.body["removeFixedIp"]["address"]
        self._proxies.remove_fixed(call, server_ref.instance, address)
        return _changed(call, server_ref)

    def _add_floating(self, call: Call, server_ref: ServerRef) -> Answer:
        asked = call.body["addFloatingIp"]
        fixed = asked.get("fixed_address")
        self._proxies.associate(call, server_ref.instance, asked["address"], fixed_address=fixed)
        return _changed(call, server_ref)

    def _remove_floating(self, call: Call, server_ref: ServerRef) -> Answer:
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
