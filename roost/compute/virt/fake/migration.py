"""Simulated live migration: hosts of one rig access each other's folders.

A guest is one file, which is renamed to the destination's folder: so it is on exactly one host,
even if a process is killed meanwhile.
"""

import contextlib
import dataclasses
import json
import pathlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from roost import exception, states
from roost.compute.virt.driver import GuestResources
from roost.compute.virt.live_migration import (
    MigrationDestination,
    MigrationSource,
    MovingDisk,
    Phase,
    Progress,
    check_absent,
)
from roost.context import RequestContext
from roost.objects import Instance, NetworkInfo
from roost.operations.presence import Presence

_STEPS: Final = 16  # in which all memory is copied
_MIB: Final = 1024 * 1024
_ROOM: Final = "arriving"  # marks the prepared file of an incoming guest
_IN_MEMORY: Final = (states.RUNNING, states.HELD)
_OWN: Final = (
    "interfaces",
    "numa_cells",
    "pci_devices",
    "attempt",
)  # the destination's values replace the source's
Described = Callable[[Instance, NetworkInfo, GuestResources], Mapping[str, Any]]


@dataclasses.dataclass(frozen=True)
class FakeGuests:
    """Access to the guest files of one host, and fault injection."""

    contents: Callable[[str], dict[str, Any]]
    write: Callable[[str, dict[str, Any]], None]
    file: Callable[[str], pathlib.Path]
    strike: Callable[[str], None]

    def drive(self, uuid: str) -> pathlib.Path:
        """Return the path of the guest's config drive, whether it exists or not."""
        return self.file(uuid).with_suffix(".iso")

    def departed(self, uuid: str) -> pathlib.Path:
        """Return the path of the file that marks a guest as migrated to another host."""
        return self.file(uuid).with_suffix(".gone")


@dataclasses.dataclass
class Job:
    """A migration in progress."""

    memory: int
    began: float
    done: int = 0
    aborted: threading.Event = dataclasses.field(default_factory=threading.Event)
    post_copy: threading.Event = dataclasses.field(default_factory=threading.Event)


class FakeMigrationSources:
    """Simulates :class:`roost.compute.virt.live_migration.MigrationSources`."""

    def __init__(self, guests: FakeGuests, *, node: str) -> None:
        self._guests = guests
        self._node = node
        self._lock = threading.Lock()
        self._jobs: dict[str, Job] = {}

    def describe(self, uuid: str) -> MigrationSource:
        guest, drive = self._require_guest(uuid), self._guests.drive(uuid)
        return MigrationSource(
            uuid=uuid,
            node=self._node,
            hypervisor_type="fake",
            hypervisor_version=1,
            storage=str(self._guests.file(uuid).parent),
            disks=tuple(
                MovingDisk(name, f"vd{at}", size_mb * _MIB, size_mb * _MIB)
                for at, (name, size_mb) in enumerate(guest["disks"])
            ),
            config_drive=drive.read_bytes() if drive.exists() else None,
        )

    def move(self, uuid: str, incoming: MigrationDestination) -> None:
        if self.presence(uuid) is Presence.ROOM and self._guests.departed(uuid).exists():
            return
        with self._job(uuid) as job:
            for at in range(_STEPS):
                self._guests.strike("migrate")
                if job.aborted.is_set():
                    raise exception.Conflict(f"The migration of the guest {uuid} was aborted.")
                if job.post_copy.is_set():
                    break
                job.done = job.memory * (at + 1) // _STEPS
            self._hand_over(uuid, pathlib.Path(incoming.details["file"]))

    def progress(self, uuid: str) -> Progress | None:
        job = self._jobs.get(uuid)
        if job is None:
            return None
        return Progress(
            phase=Phase.POST_COPY if job.post_copy.is_set() else Phase.COPYING,
            memory_total=job.memory,
            memory_processed=job.done,
            memory_remaining=job.memory - job.done,
            elapsed=int((time.monotonic() - job.began) * 1000),
        )

    def abort(self, uuid: str) -> None:
        self._in_progress(uuid).aborted.set()

    def switch_to_post_copy(self, uuid: str) -> None:
        self._in_progress(uuid).post_copy.set()

    def complete(self, uuid: str) -> None:
        self.switch_to_post_copy(uuid)

    def stay(self, uuid: str) -> None:
        self._require_guest(uuid, *_IN_MEMORY, states.SHUTDOWN, states.SAVED)
        self._guests.departed(uuid).unlink(missing_ok=True)

    def finish(self, uuid: str) -> bytes:
        if self._guests.file(uuid).exists():
            raise exception.Conflict(f"The guest {uuid} is on this host.")
        self._guests.drive(uuid).unlink(missing_ok=True)
        self._guests.departed(uuid).unlink(missing_ok=True)
        return b""

    def presence(self, uuid: str) -> Presence:
        if uuid in self._jobs:
            return Presence.LEAVING
        try:
            guest = self._guests.contents(uuid)
        except exception.NotFound:
            return Presence.ROOM if self._guests.departed(uuid).exists() else Presence.ABSENT
        if _ROOM in guest or guest["power_state"] == states.NOSTATE:
            return Presence.ROOM
        return Presence.HERE if guest["power_state"] in _IN_MEMORY else Presence.STOPPED

    @contextlib.contextmanager
    def _job(self, uuid: str) -> Iterator[Job]:
        """Register a migration of the guest for the block; one at a time."""
        with self._lock:
            guest = self._require_guest(uuid)
            job = Job(memory=guest["memory_mb"] * _MIB, began=time.monotonic())
            self._jobs[uuid] = job
        try:
            yield job
        finally:
            del self._jobs[uuid]

    def _hand_over(self, uuid: str, target: pathlib.Path) -> None:
        """Move the guest's file to the destination, with the destination's own values."""
        room = json.loads(target.read_text()) if target.exists() else {}
        if _ROOM not in room:
            raise exception.Unavailable(f"The guest {uuid} is not expected there any more.")
        own = {name: room[name] for name in _OWN}
        self._guests.departed(uuid).touch()
        self._guests.write(uuid, self._guests.contents(uuid) | own)
        self._guests.file(uuid).rename(target)

    def _require_guest(self, uuid: str, *allowed: int) -> dict[str, Any]:
        guest, found = self._guests.contents(uuid), self.presence(uuid)
        if found in (Presence.ROOM, Presence.LEAVING):
            raise exception.Conflict(f"The guest {uuid} is {found.value} on this host.")
        if guest["power_state"] not in (allowed or _IN_MEMORY):
            raise exception.Conflict(f"The guest {uuid} does not run.")
        return guest

    def _in_progress(self, uuid: str) -> Job:
        job = self._jobs.get(uuid)
        if job is None:
            self._guests.contents(uuid)
            raise exception.Conflict(f"The guest {uuid} is not being migrated.")
        return job


class FakeMigrationDestinations:
    """Simulates :class:`roost.compute.virt.live_migration.MigrationDestinations`.

    :param presence: returns the state of a guest on this host
    :param described: returns the file content of a guest on this host
    """

    def __init__(
        self,
        guests: FakeGuests,
        *,
        node: str,
        presence: Callable[[str], Presence],
        described: Described,
    ) -> None:
        self._guests = guests
        self._node = node
        self._presence = presence
        self._described = described

    def check(self, outgoing: MigrationSource) -> None:
        self._check_absent(outgoing.uuid)
        if outgoing.hypervisor_type != "fake":
            raise exception.Unsupported(
                f"{self._node} cannot run the guest {outgoing.uuid} of {outgoing.node}: its"
                f" hypervisor is {outgoing.hypervisor_type}."
            )

    def prepare(
        self,
        context: RequestContext,
        instance: Instance,
        outgoing: MigrationSource,
        *,
        image_path: pathlib.Path | None,
        network_info: NetworkInfo,
        resources: GuestResources,
    ) -> MigrationDestination:
        uuid = outgoing.uuid
        self._check_absent(uuid)
        guest = self._described(instance, network_info, resources)
        self._guests.write(uuid, {**guest, "power_state": states.NOSTATE, _ROOM: True})
        if outgoing.config_drive is not None:
            self._guests.drive(uuid).write_bytes(outgoing.config_drive)
        copied = tuple(disk.device for disk in outgoing.disks)
        details = {"file": str(self._guests.file(uuid))}
        return MigrationDestination(uuid, self._node, copied=copied, details=details)

    def finish(self, instance: Instance, console: bytes) -> int | None:
        if self._presence(instance.uuid) not in (Presence.HERE, Presence.STOPPED):
            raise exception.Conflict(f"The guest {instance.uuid} has not arrived on this host.")
        contents = self._guests.contents(instance.uuid)
        self._guests.write(instance.uuid, contents | {"announced": True})
        return None  # it does not run

    def cancel(self, uuid: str) -> None:
        self._check_absent(uuid)
        self._guests.drive(uuid).unlink(missing_ok=True)
        self._guests.file(uuid).unlink(missing_ok=True)

    def _check_absent(self, uuid: str) -> None:
        check_absent(uuid, self._presence(uuid), self._node)
