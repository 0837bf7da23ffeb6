"""How much a guest may take of what all guests of a node share: ``quota:`` extra specs."""

import dataclasses
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from typing import Final, Self

from roost import exception
from roost.compute.virt.libvirt.elements import element
from roost.objects.hardware_values import counted
from roost.objects.hardware_words import HardwareWords

_CPU: Final = ("shares", "period", "quota")
_WAYS: Final = ("total", "read", "write")
_UNITS: Final = ("bytes", "iops")
_DIRECTIONS: Final = ("inbound", "outbound")
_RATES: Final = ("average", "peak", "burst")
Numbers = Mapping[str, int]


@dataclasses.dataclass(frozen=True)
class Tuning:
    """Limits by the names that libvirt has for them; what is not named has none.

    Of CPUs: ``shares``, and ``quota`` µs in each ``period`` µs. Of each disk: ``total_bytes_sec``
    and so on.
    """

    cpu: Numbers = dataclasses.field(default_factory=dict)
    disk: Numbers = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, words: HardwareWords) -> Self:
        """Read what a flavor says.

        :raises roost.exception.Invalid: for what is no number, or contradicts itself
        """
        cpu = {name: counted(words, f"quota:cpu_{name}") for name in _CPU}
        names = [f"{way}_{unit}_sec" for way in _WAYS for unit in _UNITS]
        disk = _said({name: counted(words, f"quota:disk_{name}") for name in names})
        _check_disk(disk)
        return cls(cpu=_said(cpu), disk=disk)

    def of_cpus(self) -> Iterator[ET.Element]:
        """Yield what is said within ``cputune``."""
        return (element(name, text=most) for name, most in self.cpu.items())

    def of_a_disk(self) -> ET.Element | None:
        """Return the limits of one disk; None: none."""
        limits = [element(name, text=most) for name, most in self.disk.items()]
        return element("iotune", *limits) if limits else None


@dataclasses.dataclass(frozen=True)
class Bandwidth:
    """What an interface may carry, by way and rate (KiB/s; ``burst`` KiB): ``inbound_average``."""

    rates: Numbers = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, words: HardwareWords) -> Self:
        """Read what a flavor says.

        :raises roost.exception.Invalid: for what is no number, or a peak without an average
        """
        names = [f"{way}_{rate}" for way in _DIRECTIONS for rate in _RATES]
        rates = _said({name: counted(words, f"quota:vif_{name}") for name in names})
        for way in _DIRECTIONS:
            named = {name for name in rates if name.startswith(way)}
            if named and f"{way}_average" not in named:
                raise exception.Invalid(
                    f"{', '.join(f'quota:vif_{name}' for name in sorted(named))} means nothing"
                    f" without quota:vif_{way}_average."
                )
        return cls(rates)

    def element(self) -> ET.Element | None:
        """Return it; None: it may carry all it can."""
        ways = [made for way in _DIRECTIONS if (made := self._way(way)) is not None]
        return element("bandwidth", *ways) if ways else None

    def _way(self, way: str) -> ET.Element | None:
        found = {
            rate: self.rates[name] for rate in _RATES if (name := f"{way}_{rate}") in self.rates
        }
        return element(way, **found) if found else None


def _said(numbers: Mapping[str, int | None]) -> dict[str, int]:
    return {name: one for name, one in numbers.items() if one is not None}


def _check_disk(limits: Numbers) -> None:
    """Refuse a limit of all beside one of a part, which QEMU cannot keep."""
    for unit in _UNITS:
        parts = [name for name in limits if name.endswith(f"_{unit}_sec")]
        if len(parts) > 1 and f"total_{unit}_sec" in parts:
            raise exception.Invalid(
                f"quota:disk_total_{unit}_sec goes without quota:disk_read_{unit}_sec and"
                f" quota:disk_write_{unit}_sec."
            )
