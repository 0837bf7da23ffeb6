"""Binds the ports of any host, for a Neutron without agents: pretended guests need none.

Floating addresses are ACTIVE once they lead to a port, as if the agent of a router had said so.

``faults.json`` in Neutron's folder says what shall go wrong: ``unbindable``, hosts to which no port
is bound; ``slow``, the beginnings of names of networks whose ports stay DOWN until somebody says
otherwise.
"""

import json
import pathlib
from typing import Any

from neutron_lib.callbacks import events, registry, resources
from neutron_lib.plugins import constants, directory
from neutron_lib.plugins.ml2 import api
from oslo_config import cfg


class AnyHost(api.MechanismDriver):  # type: ignore[misc]
    def initialize(self) -> None:
        self._faults_file = pathlib.Path(cfg.CONF.state_path) / "faults.json"
        for event in (events.AFTER_CREATE, events.AFTER_UPDATE):
            registry.subscribe(_tell_of, resources.FLOATING_IP, event)

    def bind_port(self, context: Any) -> None:
        faults = json.loads(self._faults_file.read_text()) if self._faults_file.exists() else {}
        if context.host in faults.get("unbindable", []):
            return
        slow = context.network.current["name"].startswith(tuple(faults.get("slow", [])))
        for segment in context.segments_to_bind:
            context.set_binding(
                segment[api.ID],
                "tap",
                {"port_filter": False},
                status="DOWN" if slow else "ACTIVE",
            )


def _tell_of(_resource: str, _event: str, _trigger: object, payload: Any) -> None:
    """Say of a floating address what the agent of its router would."""
    directory.get_plugin(constants.L3).update_floatingip_status(
        payload.context.elevated(),
        payload.resource_id,
        "ACTIVE" if payload.latest_state["port_id"] else "DOWN",
    )
