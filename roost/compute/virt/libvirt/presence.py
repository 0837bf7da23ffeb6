"""libvirt's state of a guest that may be migrating."""

import dataclasses
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any, Final, TypeVar

import libvirt

from roost import exception
from roost.compute.virt.libvirt.connection import Connection
from roost.compute.virt.libvirt.folder import Folders
from roost.compute.virt.live_migration import Phase, Progress
from roost.operations.presence import Presence

T = TypeVar("T")

_HELD_IN_LEAVING: Final = (libvirt.VIR_DOMAIN_PAUSED_MIGRATION, libvirt.VIR_DOMAIN_PAUSED_POSTCOPY)
_OF_ARRIVALS: Final = libvirt.VIR_ERR_OPERATION_UNSUPPORTED  # only the source has job statistics
_LEAVES: Final = libvirt.VIR_DOMAIN_JOB_OPERATION_MIGRATION_OUT
# No migration is in progress: it may run elsewhere, or ran there without all of its memory.
_AFTER_A_MOVE: Final = {
    (libvirt.VIR_DOMAIN_PAUSED, libvirt.VIR_DOMAIN_PAUSED_MIGRATION): Presence.UNDECIDED,
    (libvirt.VIR_DOMAIN_PAUSED, libvirt.VIR_DOMAIN_PAUSED_POSTCOPY): Presence.TORN,
}
_TORN: Final = (
    (libvirt.VIR_DOMAIN_PAUSED, libvirt.VIR_DOMAIN_PAUSED_POSTCOPY_FAILED),
    (libvirt.VIR_DOMAIN_RUNNING, libvirt.VIR_DOMAIN_RUNNING_POSTCOPY_FAILED),
)


def presence(domain: Any) -> Presence:
    """Return the guest's presence from libvirt's state: never ABSENT or ROOM."""
    job, state = _job(domain), tuple(domain.state())
    if state in _TORN:
        return Presence.TORN
    if job is None:
        return Presence.ARRIVING
    if not domain.isActive():
        return Presence.STOPPED
    if job.get("operation") == _LEAVES:
        return Presence.LEAVING
    return _AFTER_A_MOVE.get(state, Presence.HERE)


def stood_still(domain: Any) -> int | None:
    """Return for how many milliseconds a guest that has arrived was paused; None: unknown."""
    try:
        job = domain.jobStats(libvirt.VIR_DOMAIN_JOB_STATS_COMPLETED)
    except libvirt.libvirtError:  # libvirtd was started again since
        return None
    downtime = job.get("downtime")
    return None if downtime is None else int(downtime)


def progress(domain: Any) -> Progress | None:
    """Return the progress of a migration from this host; None: none is in progress."""
    job = _job(domain)
    if job is None or job.get("operation") != _LEAVES:
        return None
    count = {name: int(value) for name, value in job.items() if isinstance(value, int)}.get
    return Progress(
        phase=_phase(*domain.state()),
        memory_total=count("memory_total", 0),
        memory_processed=count("memory_processed", 0),
        memory_remaining=count("memory_remaining", 0),
        disk_total=count("disk_total", 0),
        disk_processed=count("disk_processed", 0),
        disk_remaining=count("disk_remaining", 0),
        dirty_rate=count("memory_dirty_rate", 0) * count("memory_page_size", 0),
        downtime=count("downtime", 0),
        elapsed=count("time_elapsed", 0),
        iterations=count("memory_iteration", 0),
    )


def _phase(state: int, why: int) -> Phase:
    if state != libvirt.VIR_DOMAIN_PAUSED or why not in _HELD_IN_LEAVING:
        return Phase.COPYING
    return Phase.POST_COPY if why == libvirt.VIR_DOMAIN_PAUSED_POSTCOPY else Phase.SWITCHING


def _job(domain: Any) -> dict[str, Any] | None:
    """Return the current job of a guest; None: it is arriving, for which libvirt has none."""
    try:
        job: dict[str, Any] = domain.jobStats()
    except libvirt.libvirtError as error:
        if error.get_error_code() == _OF_ARRIVALS:
            return None
        if error.get_error_code() == libvirt.VIR_ERR_OPERATION_INVALID:  # it does not run
            return {}
        raise
    return job if job["type"] != libvirt.VIR_DOMAIN_JOB_NONE else {}


def files_of(domain: ET.Element) -> dict[str, str]:
    """Return the files of a guest's writable disks, by device."""
    found = {}
    for disk in domain.findall("devices/disk[@device='disk']"):
        source, target = disk.find("source"), disk.find("target")
        if source is not None and target is not None:
            found[target.attrib["dev"]] = source.attrib["file"]
    return found


@dataclasses.dataclass(frozen=True)
class Residents:
    """The guests of this host, including those that are migrating."""

    connection: Connection
    folders: Folders

    def on(self, uuid: str, what: str, do: Callable[[Any], T]) -> T:
        """Return ``do(domain)`` for a guest; raises as :meth:`Connection.call` does."""
        return self.connection.call(what, lambda opened: do(opened.lookupByUUIDString(uuid)))

    def presence(self, uuid: str) -> Presence:
        try:
            return self.on(uuid, "look at a guest", presence)
        except exception.NotFound:
            return Presence.ROOM if self.folders.of(uuid).plan.exists() else Presence.ABSENT

    def require(self, uuid: str, *allowed: Presence) -> Presence:
        """Return the guest's presence if it is an allowed one.

        :raises roost.exception.NotFound: when there is none
        :raises roost.exception.Conflict: when its presence is another
        """
        found = self.presence(uuid)
        if found in allowed:
            return found
        if found in (Presence.ABSENT, Presence.ROOM):
            raise exception.NotFound(f"There is no guest {uuid} on this host.")
        raise exception.Conflict(f"The guest {uuid} is {found.value} on this host.")
