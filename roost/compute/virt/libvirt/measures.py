"""Diagnostics of a guest, from libvirt's counters."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost.compute.virt.driver import Diagnostics

_KIB_PER_MIB: Final = 1024
_NANOSECONDS: Final = 10**9
_TRAFFIC: Final = {"octets": "bytes", "packets": "pkts", "errors": "errs", "drop": "drop"}
_DISK: Final = {
    "read_bytes": "rd.bytes",
    "read_requests": "rd.reqs",
    "write_bytes": "wr.bytes",
    "write_requests": "wr.reqs",
}
Counters = Mapping[str, Any]


def diagnostics(
    found: Counters, *, macs: Sequence[str], vcpus: int, hypervisor: str, uptime: int
) -> Diagnostics:
    """Return the diagnostics of a running guest.

    :param macs: of its interfaces, in libvirt's order
    :param uptime: seconds since its start, which libvirt does not report
    """
    return Diagnostics(
        state="running",
        driver="libvirt",
        hypervisor=hypervisor,
        hypervisor_os="linux",
        uptime=uptime,
        memory_details=_memory(found),
        cpu_details=[_cpu(found, cpu, uptime) for cpu in range(vcpus)],
        nic_details=[{"mac_address": mac, **_traffic(found, at)} for at, mac in enumerate(macs)],
        disk_details=_disks(found),
    )


def _memory(found: Counters) -> dict[str, int]:
    """Return the guest's memory, and its use as far as its balloon driver reports it."""
    has = found.get("balloon.current", 0)
    return {
        "maximum": found.get("balloon.maximum", 0) // _KIB_PER_MIB,
        "used": (has - found.get("balloon.unused", 0)) // _KIB_PER_MIB,
    }


def _cpu(found: Counters, cpu: int, uptime: int) -> dict[str, int]:
    spent = found.get(f"vcpu.{cpu}.time", 0)
    busy = spent * 100 // (uptime * _NANOSECONDS) if uptime else 0
    return {"id": cpu, "time": spent, "utilisation": min(busy, 100)}


def _traffic(found: Counters, at: int) -> dict[str, int]:
    """Return an interface's traffic; libvirt does not count QEMU's user-mode network."""
    counts = {
        f"{way}_{name}": found.get(f"net.{at}.{way}.{counter}", 0)
        for way in ("rx", "tx")
        for name, counter in _TRAFFIC.items()
    }
    return {**counts, "rx_rate": 0, "tx_rate": 0}


def _disks(found: Counters) -> list[dict[str, int]]:
    return [
        {name: found.get(f"block.{at}.{counter}", 0) for name, counter in _DISK.items()}
        | {"errors_count": 0}
        for at in range(found.get("block.count", 0))
    ]
