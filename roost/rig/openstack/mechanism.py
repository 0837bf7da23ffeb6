"""Binds the ports of any host, for a Neutron without agents: pretended guests need none.

``faults.json`` in Neutron's folder says what shall go wrong: ``unbindable``, hosts to which no port
is bound; ``slow``, the beginnings of names of networks whose ports stay DOWN until somebody says
otherwise.
"""

import json
import pathlib
from typing import Any

from neutron_lib.plugins.ml2 import api
from oslo_config import cfg


class AnyHost(api.MechanismDriver):  # type: ignore[misc]
    def initialize(self) -> None:
        self._faults_file = pathlib.Path(cfg.CONF.state_path) / "faults.json"

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
