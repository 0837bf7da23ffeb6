"""How a server's guest does: asked of its host."""

from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.server_hosts import ServerHosts, heard
from roost.api.views import server_diagnostics as views
from roost.api.whereabouts import Whereabouts


class ServerDiagnostics:
    """Handler of ``/servers/{id}/diagnostics``."""

    def __init__(self, parts: Parts) -> None:
        self._whereabouts = Whereabouts(parts.api_database, parts.cells)
        self._hosts = ServerHosts(parts)

    def show(self, call: Call) -> Answer:
        """Tell what the hypervisor measures.

        :raises roost.exception.Conflict: when the server does not run on any host
        :raises roost.exception.Unsupported: when its hypervisor measures nothing
        :raises roost.exception.Timeout: when its host does not answer
        """
        located = self._whereabouts.find(call, call.params["server_id"])
        instance = located.instance
        host = self._hosts.of(located)
        with heard(call, instance):
            measured = host.get_diagnostics(call.context, instance_uuid=instance.uuid)
        return Answer(views.full(measured, instance, version=call.version))
