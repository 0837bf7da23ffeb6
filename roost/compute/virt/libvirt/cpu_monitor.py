"""CPU metrics of a node, from libvirt's counters: ``[compute] compute_monitors``."""

import threading
from collections.abc import Mapping
from typing import Any, Final

import libvirt

NAME: Final = "cpu.virt_driver"
INTERVAL: Final = 30.0  # seconds from one measurement to the next
_TIMES: Final = ("user", "kernel", "idle", "iowait")
_IDLE: Final = ("idle", "iowait")
_ALL: Final = libvirt.VIR_NODE_CPU_STATS_ALL_CPUS
_MHZ: Final = 3  # its index in getInfo's result


class CpuMonitor:
    """Stores the previous counters, so that shares are of the time since then.

    The first shares are of the time since the node was booted.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._before = dict.fromkeys(_TIMES, 0)
        self._shares: dict[str, float] = {}

    def measure(self, opened: Any) -> dict[str, float]:
        """Return metrics by name: times in ns, shares in per cent (0 to 100), frequency in MHz.

        :param opened: a connection of libvirt
        """
        counted = opened.getCPUStats(_ALL, 0)
        times = {name: int(counted.get(name, 0)) for name in _TIMES}
        with self._lock:
            shares = self._shares_of(times)
        return {
            **{f"cpu.{name}.time": time for name, time in times.items()},
            **shares,
            "cpu.frequency": opened.getInfo()[_MHZ],
        }

    def _shares_of(self, times: Mapping[str, int]) -> dict[str, float]:
        """Return the shares since the last call; the previous ones, if no time has passed."""
        passed = {name: time - self._before[name] for name, time in times.items()}
        if min(passed.values()) < 0:  # the node was rebooted
            passed = dict(times)
        total = sum(passed.values())
        if total:
            self._before = dict(times)
            self._shares = {
                f"cpu.{name}.percent": 100 * time / total for name, time in passed.items()
            }
            busy = total - sum(passed[name] for name in _IDLE)
            self._shares["cpu.percent"] = 100 * busy / total
        return self._shares
