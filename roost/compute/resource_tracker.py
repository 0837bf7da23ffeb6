"""What a host has, and what its instances take of it.

The scheduler decides by its own claims; this is the host's own view, which has the last word before
a build begins and which the host reports.
"""

import dataclasses
import datetime
import logging
import threading
from collections.abc import Callable, Iterable
from typing import NamedTuple, Self

from oslo_config import cfg

from roost import exception
from roost.compute.virt.driver import VirtDriver
from roost.objects import Flavor, HostReport, Instance
from roost.objects.flavor import disk_gb

LOG = logging.getLogger(__name__)
_MIB_PER_GIB = 1024


class Amounts(NamedTuple):
    """Some of each resource. Memory in MiB, disk in GiB."""

    vcpus: float
    memory_mb: float
    disk_gb: float


_WORDS = {"vcpus": "CPUs", "memory_mb": "MiB of memory", "disk_gb": "GiB of disk"}


@dataclasses.dataclass(frozen=True)
class HostSettings:
    """What the operator says of a host; ``reserved`` is never given to instances."""

    host: str
    availability_zone: str
    reserved: Amounts
    ratios: Amounts

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        group = conf.compute
        return cls(
            host=conf.host,
            availability_zone=group.availability_zone,
            reserved=Amounts(
                vcpus=group.reserved_host_cpus,
                memory_mb=group.reserved_host_memory_mb,
                disk_gb=-(-group.reserved_host_disk_mb // _MIB_PER_GIB),
            ),
            ratios=Amounts(
                vcpus=group.cpu_allocation_ratio,
                memory_mb=group.ram_allocation_ratio,
                disk_gb=group.disk_allocation_ratio,
            ),
        )


class ResourceTracker:
    """Counts what is claimed on one host; any thread may ask.

    :param on_change: called, without arguments, when the next report would say something new
    """

    def __init__(
        self, driver: VirtDriver, *, settings: HostSettings, on_change: Callable[[], object]
    ) -> None:
        self._driver = driver
        self._settings = settings
        self._on_change = on_change
        self._lock = threading.Lock()
        self._claims: dict[str, Amounts] = {}
        self._cell_uuid: str | None = None
        self._enabled = True

    @property
    def claims(self) -> dict[str, Amounts]:
        """What each instance takes, by uuid."""
        with self._lock:
            return dict(self._claims)

    def locate(self, *, cell_uuid: str, enabled: bool) -> None:
        """Note which cell this host is in, and whether it takes new instances."""
        if (cell_uuid, enabled) != (self._cell_uuid, self._enabled):
            self._cell_uuid, self._enabled = cell_uuid, enabled
            self._on_change()

    def set_enabled(self, enabled: bool) -> None:
        if enabled != self._enabled:
            self._enabled = enabled
            self._on_change()

    def fill(self, instances: Iterable[Instance]) -> None:
        """Begin anew with what is here already, whether it fits or not."""
        with self._lock:
            self._claims = {each.uuid: _asked(each.flavor) for each in instances}
        self._on_change()

    def claim(self, instance: Instance) -> None:
        """Set aside what the instance needs; one that has a claim keeps it.

        :raises roost.exception.NoCapacity: naming resource, asked and free
        """
        asked = _asked(instance.flavor)
        with self._lock:
            others = [each for uuid, each in self._claims.items() if uuid != instance.uuid]
            self._check(asked, used=_sum(others))
            self._claims[instance.uuid] = asked
        self._on_change()

    def release(self, instance_uuid: str) -> None:
        """Give back what the instance had; safe to repeat."""
        with self._lock:
            found = self._claims.pop(instance_uuid, None)
        if found is not None:
            self._on_change()

    def report(self) -> HostReport:
        """Return what the scheduler should know of this host now.

        :raises roost.exception.Unavailable: before the cell has told where this host is
        """
        if self._cell_uuid is None:
            raise exception.Unavailable(f"host {self._settings.host} does not know its cell yet")
        has = self._driver.resources()
        claims = self.claims
        return HostReport.of(
            host=self._settings.host,
            node=has.node,
            cell_uuid=self._cell_uuid,
            availability_zone=self._settings.availability_zone,
            enabled=self._enabled,
            up=True,
            hypervisor_type=has.hypervisor_type,
            hypervisor_version=has.hypervisor_version,
            traits=list(has.traits),
            instances=sorted(claims),
            reported_at=datetime.datetime.now(datetime.UTC),
            **self._total()._asdict(),
            **_suffixed(self._settings.reserved, "reserved"),
            **_suffixed(self._settings.ratios, "ratio"),
            **_suffixed(_sum(claims.values()), "used"),
        )

    def _check(self, asked: Amounts, *, used: Amounts) -> None:
        has, reserved, ratios = self._total(), self._settings.reserved, self._settings.ratios
        for at, name in enumerate(Amounts._fields):
            free = max(int((has[at] - reserved[at]) * ratios[at] - used[at]), 0)
            if asked[at] > free:
                raise exception.NoCapacity(
                    f"{self._settings.host} has not enough {_WORDS[name]}:"
                    f" {asked[at]} asked, {free} free",
                    resource=name,
                    asked=asked[at],
                    free=free,
                )

    def _total(self) -> Amounts:
        has = self._driver.resources()
        return Amounts(vcpus=has.vcpus, memory_mb=has.memory_mb, disk_gb=has.disk_gb)


def _asked(flavor: Flavor) -> Amounts:
    return Amounts(vcpus=flavor.vcpus, memory_mb=flavor.memory_mb, disk_gb=disk_gb(flavor))


def _sum(claims: Iterable[Amounts]) -> Amounts:
    return Amounts(*(sum(column) for column in zip(Amounts(0, 0, 0), *claims, strict=True)))


def _suffixed(amounts: Amounts, suffix: str) -> dict[str, float]:
    return {f"{name}_{suffix}": value for name, value in amounts._asdict().items()}
