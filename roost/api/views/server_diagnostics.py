"""What hypervisors measure of guests, as JSON: freely before 2.48, alike for all since."""

from collections.abc import Mapping
from typing import Any, Final

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
    told = {f"cpu{cpu['id']}_time": cpu["time"] for cpu in measured["cpu_details"]}
    told["memory"] = measured["memory_details"]["maximum"] * 1024  # KiB
    for number, disk in enumerate(measured["disk_details"]):
        told |= {f"disk{number}_{name}": value for name, value in disk.items()}
    for number, nic in enumerate(measured["nic_details"]):
        told |= {f"nic{number}_{name}": value for name, value in nic.items()}
    return told
