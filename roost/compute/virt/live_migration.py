"""Live migration: what the drivers of the source and of the destination implement for it.

The caller has the source describe the guest, the destination check and prepare, the source move the
guest, and both finish. After any failure on the way it asks both hosts for the guest's
:class:`Presence`, the source first; ``operations/presence.py`` says what follows. The hosts
exchange plain values only, which fit into a message.
"""

import base64
import dataclasses
import enum
import json
import pathlib
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeVar, runtime_checkable

from roost import exception
from roost.compute.virt.driver import GuestResources
from roost.context import RequestContext
from roost.objects import Instance, NetworkInfo
from roost.operations.presence import Presence

T = TypeVar("T")
_BYTES: Final = "base64"


def check_absent(uuid: str, found: Presence, node: str) -> None:
    """Check that a host does not have the guest; a prepared folder is allowed.

    :raises roost.exception.Conflict: when it has the guest
    """
    if found not in (Presence.ABSENT, Presence.ROOM):
        raise exception.Conflict(f"The guest {uuid} is {found.value} on {node}.")


class Phase(enum.Enum):
    """The phase of a live migration."""

    COPYING = "copying"  # the guest runs at the source
    SWITCHING = "switching"  # it is paused on both hosts, for a short time
    POST_COPY = "post-copy"  # it runs at the destination, which fetches the missing memory


@dataclasses.dataclass(frozen=True)
class Progress:
    """Progress of a live migration. Sizes in bytes; ``dirty_rate`` in bytes a second, times in ms.

    Totals may grow meanwhile. ``downtime`` is the expected downtime at the present rate;
    ``iterations`` counts the passes over all memory.
    """

    phase: Phase
    memory_total: int = 0
    memory_processed: int = 0
    memory_remaining: int = 0
    disk_total: int = 0
    disk_processed: int = 0
    disk_remaining: int = 0
    dirty_rate: int = 0
    downtime: int = 0
    elapsed: int = 0
    iterations: int = 0


@dataclasses.dataclass(frozen=True)
class MovingDisk:
    """A disk of a guest, by its file name. Bytes: ``size`` in the guest, ``used`` on its host.

    ``base`` is the file name of its backing file, converted from an image; None: it has none.
    """

    name: str
    device: str
    size: int
    used: int
    base: str | None = None


@dataclasses.dataclass(frozen=True)
class MigrationSource:
    """The source's description of a guest to migrate.

    ``storage`` identifies the storage of its disks: a host with the same storage id has the disks
    already. ``config_drive`` is the content of its config drive, if any; ``details`` are for the
    destination's driver alone.
    """

    uuid: str
    node: str
    hypervisor_type: str
    hypervisor_version: int
    storage: str
    disks: tuple[MovingDisk, ...] = ()
    config_drive: bytes | None = None
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class MigrationDestination:
    """What a destination has prepared; ``details`` are for the source's driver alone.

    ``copied`` are the devices of the disks to copy: none, where both hosts share their storage.
    ``whole``: copy them with their backing files, which the destination does not have.
    """

    uuid: str
    node: str
    copied: tuple[str, ...] = ()
    whole: bool = False
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class MigrationRest:
    """What the source of a guest that has left hands over: its console log."""

    console: bytes = b""


_MOST: Final = 64 * 1024 * 1024  # bytes that are read of what another host hands over


def pack(value: MigrationSource | MigrationDestination | MigrationRest) -> str:
    """Return what one host hands over to the other, as text."""
    text = json.dumps(dataclasses.asdict(value), default=_bytes_as_text)
    return base64.b64encode(zlib.compress(text.encode())).decode()


def unpack(kind: Callable[..., T], text: str | None) -> T:
    """Return what :func:`pack` was given.

    :raises roost.exception.Invalid: when it is something else
    """
    try:
        packed = zlib.decompressobj().decompress(base64.b64decode(text or ""), _MOST)
        given = json.loads(packed, object_hook=_bytes_of_text)
        if "disks" in given:
            given["disks"] = tuple(MovingDisk(**disk) for disk in given["disks"])
        return kind(**given)
    except (TypeError, ValueError, zlib.error) as error:
        raise exception.Invalid(
            f"The other host has handed over something else: {error}"
        ) from error


def _bytes_as_text(value: bytes) -> dict[str, str]:
    return {_BYTES: base64.b64encode(value).decode()}


def _bytes_of_text(value: dict[str, Any]) -> Any:
    return base64.b64decode(value[_BYTES]) if {*value} == {_BYTES} else value


class MigrationSources(Protocol):
    """The source's side of live migration."""

    def describe(self, uuid: str) -> MigrationSource:
        """Return the description of a guest that its destination needs; changes nothing.

        :raises roost.exception.Conflict: when its state does not allow migration
        :raises roost.exception.NotFound: when there is none
        :raises roost.exception.Unsupported: when it has a device that cannot be migrated
        """

    def move(self, uuid: str, incoming: MigrationDestination) -> None:
        """Migrate a guest to a prepared destination; return when it runs there, and not here.

        This may take hours. No error when it was migrated already. It does not depend on this
        process: if the process ends, the migration continues. After any failure, ask both hosts.

        :raises roost.exception.Conflict: when it was aborted, is being migrated, or does not run
        :raises roost.exception.NotFound: when there is none
        :raises roost.exception.Timeout: when it took too long, and was aborted
        :raises roost.exception.Unavailable: when it failed; details say why
        """

    def progress(self, uuid: str) -> Progress | None:
        """Return the progress of its migration (thread-safe); None: none is in progress."""

    def abort(self, uuid: str) -> None:
        """Abort its migration; :meth:`move` then raises Conflict, unless it is too late to abort.

        :raises roost.exception.Conflict: when none is in progress, or it is in post-copy
        :raises roost.exception.NotFound: when there is none
        """

    def switch_to_post_copy(self, uuid: str) -> None:
        """Switch a migration to post-copy: the guest runs at the destination; the rest follows.

        If either host, or the network between them, fails from now on, the guest is lost.

        :raises roost.exception.Conflict: when no migration is in progress
        :raises roost.exception.NotFound: when there is none
        :raises roost.exception.Unsupported: when this host does not permit post-copy
        """

    def complete(self, uuid: str) -> None:
        """Have its migration end soon: by post-copy where this host permits it, else paused.

        :raises roost.exception.Conflict: when none is in progress
        :raises roost.exception.NotFound: when there is none
        """

    def stay(self, uuid: str) -> None:
        """Resume a guest here after its destination has cancelled; no error when it runs already.

        :raises roost.exception.Conflict: when its migration is still in progress
        :raises roost.exception.NotFound: when there is none
        """

    def finish(self, uuid: str) -> bytes:
        """Remove what is left of a migrated guest, and return its console log. Idempotent.

        Disks on storage that both hosts share stay. The log is empty where the destination has it
        already.

        :raises roost.exception.Conflict: when the guest runs here
        """


class MigrationDestinations(Protocol):
    """The destination's side of live migration."""

    def check(self, outgoing: MigrationSource) -> None:
        """Check that the guest could run here; changes nothing.

        :raises roost.exception.Conflict: when it is on this host already
        :raises roost.exception.NoCapacity: when there is no space for its disks
        :raises roost.exception.Unsupported: when this host cannot run it; the message says why
        """

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
        """Prepare for an incoming guest; a repeated call starts over.

        :param image_path: the image of its root disk, complete on this host; None: the image is
            unavailable, so the backing file is copied, too
        :param network_info: its interfaces as they are plugged on this host
        :param resources: the NUMA cells and CPUs that are reserved for it on this host
        :raises roost.exception.Conflict: when it is on this host already, or lacks an interface
            here
        """

    def finish(self, instance: Instance, console: bytes) -> int | None:
        """Make a guest that has arrived permanent on this host. Idempotent.

        :param console: its console log from the source
        :returns: milliseconds for which it stood still meanwhile; None: unknown
        :raises roost.exception.Conflict: when it has not arrived here
        """

    def cancel(self, uuid: str) -> None:
        """Remove what was prepared for a guest that did not arrive; no error when nothing is left.

        Disks on storage that both hosts share stay.

        :raises roost.exception.Conflict: when it is here, or arriving: then abort it at the source
        """


@runtime_checkable
class MigratesGuests(Protocol):
    """A driver that can live-migrate guests from and to this host."""

    def departures(self) -> MigrationSources: ...

    def arrivals(self) -> MigrationDestinations: ...

    def presence(self, uuid: str) -> Presence:
        """Return the guest's state on this host, also after either side has crashed."""
