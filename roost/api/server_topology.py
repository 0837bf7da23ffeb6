"""Where a server is on its host: its NUMA cells, CPUs and pages."""

from roost.api import policies
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.views import server_topology as views
from roost.api.whereabouts import Whereabouts


class ServerTopology:
    """Handler of ``/servers/{id}/topology``."""

    def __init__(self, parts: Parts) -> None:
        self._whereabouts = Whereabouts(parts.api_database, parts.cells)

    def show(self, call: Call) -> Answer:
        instance = self._whereabouts.find(call, call.params["server_id"]).instance
        sees_host = call.allows(policies.server_topology.HOST, project_id=instance.project_id)
        return Answer(views.full(instance.numa_topology, sees_host=sees_host))
