"""Binds the ports of any host, for a Neutron without agents. Neutron loads it; we do not.

A network's name says how it goes with its ports: those of ``slow...`` do not work until somebody
says so. ``ROOST_UNBINDABLE`` names a file of hosts that cannot be bound to.
"""

import os
import pathlib

from neutron_lib.plugins.ml2 import api


class AnywhereMechanism(api.MechanismDriver):
    def initialize(self):
        pass

    def bind_port(self, context):
        if context.host in pathlib.Path(os.environ["ROOST_UNBINDABLE"]).read_text().split():
            return
        status = "DOWN" if context.network.current["name"].startswith("slow") else "ACTIVE"
        for segment in context.segments_to_bind:
            context.set_binding(segment[api.ID], "tap", {"port_filter": False}, status=status)
