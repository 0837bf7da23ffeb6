"""Limits on a guest's share of its node: ``quota:`` extra specs."""

import dataclasses
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from typing import Final, Self

from roost.compute.virt.libvirt.elements import element
from roost.hardware import rules
from roost.hardware.properties import HardwareProperties
from roost.hardware.values import counted

_CPU: Final = ("shares", "period", "quota")
_DIRECTIONS: Final = ("inbound", "outbound")
_RATES: Final = ("average", "peak", "burst")
Numbers = Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class Tuning:
    """Limits by libvirt's names; missing ones are unlimited.

    Of CPUs: ``shares``, and ``quota`` µs in each ``period`` µs. Of each disk: ``total_bytes_sec``
    and so on.
    """

    cpu: Numbers = dataclasses.field(default_factory=dict)
    disk: Numbers = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, properties: HardwareProperties) -> Self:
        """Read the flavor's limits.

        :raises roost.exception.Invalid: for invalid numbers or contradictory values
        """
        values = {name: counted(properties, f"quota:cpu_{name}") for name in _CPU}
        cpu = {name: most for name, most in values.items() if most is not None}
        return cls(cpu=cpu, disk=rules.disk_limits(properties))

    def of_cpus(self) -> Iterator[ET.Element]:
        """Yield the elements within ``cputune``."""
        return (element(name, text=most) for name, most in self.cpu.items())

    def of_a_disk(self) -> ET.Element | None:
        """Return the limits of one disk; None: none."""
        limits = [element(name, text=most) for name, most in self.disk.items()]
        return element("iotune", *limits) if limits else None


@dataclasses.dataclass(frozen=True)
class Bandwidth:
    """Bandwidth of an interface by direction and rate (KiB/s; burst KiB): ``inbound_average``."""

    rates: Numbers = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, properties: HardwareProperties) -> Self:
        """Read the flavor's limits.

        :raises roost.exception.Invalid: for invalid numbers, or a peak without an average
        """
        return cls(rules.vif_rates(properties))

    def element(self) -> ET.Element | None:
        """Return the ``bandwidth`` element; None: unlimited."""
        ways = [made for way in _DIRECTIONS if (made := self._way(way)) is not None]
        return element("bandwidth", *ways) if ways else None

    def _way(self, way: str) -> ET.Element | None:
        found = {
            rate: self.rates[name] for rate in _RATES if (name := f"{way}_{rate}") in self.rates
        }
        return element(way, **found) if found else None
