"""Diagnostics of a guest, measured by its host: free-form before 2.48, fixed keys since."""

from collections.abc import Mapping
from typing import Any, Final

from roost.api.dependencies import Dependencies
from roost.api.locator import ServerLocator
from roost.api.policy import ADMIN, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.servers import policies
from roost.api.servers.host_calls import ServerHosts
from roost.objects import Instance

_ALIKE_SINCE: Final = 48


def full(measured: Mapping[str, Any], instance: Instance, *, version: int) -> dict[str, Any]:
    """Return the diagnostics of a server.

    :param measured: the fields of :class:`roost.compute.virt.driver.Diagnostics`
    """
    if version < _ALIKE_SINCE:
        return _free(measured)
    return {
        "state": measured["state"],
        "driver": measured["driver"],
        "hypervisor": measured["hypervisor"],
        "hypervisor_os": measured["hypervisor_os"],
        "uptime": measured["uptime"],
        "config_drive": instance.config_drive,
        "num_cpus": len(measured["cpu_details"]),
        "num_nics": len(measured["nic_details"]),
        "num_disks": len(measured["disk_details"]),
        "memory_details": measured["memory_details"],
        "cpu_details": measured["cpu_details"],
        "nic_details": measured["nic_details"],
        "disk_details": measured["disk_details"],
    }


def _free(measured: Mapping[str, Any]) -> dict[str, Any]:
    shown = {f"cpu{cpu['id']}_time": cpu["time"] for cpu in measured["cpu_details"]}
    shown["memory"] = measured["memory_details"]["maximum"] * 1024  # KiB
    for number, disk in enumerate(measured["disk_details"]):
        shown |= {f"disk{number}_{name}": value for name, value in disk.items()}
    for number, nic in enumerate(measured["nic_details"]):
        shown |= {f"nic{number}_{name}": value for name, value in nic.items()}
    return shown


class ServerDiagnostics:
    """Handler of ``/servers/{id}/diagnostics``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._locator = ServerLocator(dependencies.api_database, dependencies.cells)
        self._hosts = ServerHosts(dependencies)

    def show(self, call: Call) -> Answer:
        """Show the diagnostics that the hypervisor measures.

        :raises roost.exception.Conflict: when the server does not run on any host
        :raises roost.exception.Unsupported: when its hypervisor has no diagnostics
        :raises roost.exception.Silent: when its host does not answer
        """
        server_ref = self._locator.find(call, call.params["server_id"])
        instance = server_ref.instance
        with self._hosts.of(call, server_ref).answering() as host:
            measured = host.get_diagnostics(call.context, instance_uuid=instance.uuid)
        return Answer(full(measured, instance, version=call.version))


ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/servers/{server_id}/diagnostics",
        (ServerDiagnostics, ServerDiagnostics.show),
        Rule("os_compute_api:os-server-diagnostics", ADMIN, "Show a server's diagnostics."),
        checks=(policies.SHOW_HOST,),
    ),
)
