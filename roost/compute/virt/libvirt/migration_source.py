"""Guests that go to another host while they run, from their source's side.

The libvirtd of the source talks with that of the destination itself (peer to peer). So a move does
not depend on who asked for it, nor on a connection of ours, and is bounded by nothing but its own
deadline.
"""

import contextlib
import dataclasses
import logging
import pathlib
import xml.etree.ElementTree as ET
from concurrent import futures
from typing import Any, Final

import libvirt

from roost import exception, states
from roost.compute.virt.libvirt import console, guests, presence
from roost.compute.virt.libvirt.base_images import base_of
from roost.compute.virt.libvirt.elements import find, parse
from roost.compute.virt.libvirt.identity import GuestIdentity
from roost.compute.virt.libvirt.presence import Residents
from roost.compute.virt.libvirt.settings import MigrationSettings, TimeoutAction, is_number
from roost.compute.virt.live_migration import (
    MigrationDestination,
    MigrationSource,
    MovingDisk,
    Presence,
    Progress,
)

LOG = logging.getLogger(__name__)
_LOOK: Final = 1.0
_MOVABLE: Final = libvirt.VIR_DOMAIN_XML_MIGRATABLE | libvirt.VIR_DOMAIN_XML_SECURE
_ALWAYS: Final = (
    libvirt.VIR_MIGRATE_LIVE
    | libvirt.VIR_MIGRATE_PEER2PEER
    | libvirt.VIR_MIGRATE_PERSIST_DEST
    | libvirt.VIR_MIGRATE_UNDEFINE_SOURCE
)
_REFUSED: Final = (
    libvirt.VIR_ERR_ARGUMENT_UNSUPPORTED,
    libvirt.VIR_ERR_CONFIG_UNSUPPORTED,
    libvirt.VIR_ERR_CPU_INCOMPATIBLE,
)
_PEER: Final = (libvirt.VIR_FROM_RPC, libvirt.VIR_FROM_REMOTE)


class LibvirtMigrationSources:
    """What :class:`roost.compute.virt.live_migration.MigrationSources` says."""

    def __init__(self, residents: Residents, *, node: str, settings: MigrationSettings) -> None:
        self._residents = residents
        self._node = node
        self._settings = settings
        self._aborted: set[str] = set()

    def describe(self, uuid: str) -> MigrationSource:
        folders = self._residents.folders
        self._residents.require(uuid, Presence.HERE)
        folders.of(uuid).sign()
        domain, definition, disks = self._residents.on(uuid, "describe a guest", _described)
        kind, version, told = self._residents.connection.call(
            "describe its host",
            lambda opened: (opened.getType(), opened.getVersion(), opened.getCapabilities()),
        )
        _check_movable(parse(domain))
        drive, started = folders.of(uuid).drive, folders.of(uuid).started
        return MigrationSource(
            uuid=uuid,
            node=self._node,
            hypervisor_type=kind,
            hypervisor_version=version,
            storage=folders.storage(),
            disks=disks,
            config_drive=drive.read_bytes() if drive.exists() else None,
            details={
                "domain": domain,
                "definition": definition,
                "started": started.stat().st_mtime if started.exists() else None,
                "host_cpu": ET.tostring(find(parse(told), "host/cpu"), encoding="unicode"),
            },
        )

    def move(self, uuid: str, incoming: MigrationDestination) -> None:
        if self._residents.presence(uuid) is Presence.ROOM:
            return
        self._residents.require(uuid, Presence.HERE)
        flags, said = self._flags(uuid, incoming), parameters_of(incoming, self._settings)

        def move(opened: Any) -> None:
            domain = opened.lookupByUUIDString(uuid)
            domain.migrateSetMaxDowntime(self._settings.downtime)
            domain.migrateToURI3(incoming.details["uri"], said, flags)

        self._aborted.discard(uuid)
        LOG.info("the guest %s goes to %s", uuid, incoming.node)
        self._await(uuid, incoming, self._residents.connection.start("move a guest", move))
        LOG.info("the guest %s has gone to %s", uuid, incoming.node)

    def progress(self, uuid: str) -> Progress | None:
        with contextlib.suppress(exception.NotFound):
            return self._residents.on(uuid, "tell how the move of a guest goes", presence.progress)
        return None

    def abort(self, uuid: str) -> None:
        self._residents.require(uuid, Presence.LEAVING)
        self._aborted.add(uuid)
        self._residents.on(uuid, "abort the move of a guest", lambda domain: domain.abortJob())

    def switch_to_post_copy(self, uuid: str) -> None:
        if not self._settings.post_copy:
            raise exception.Unsupported(
                f"{self._node} does no post-copy: [libvirt] live_migration_permit_post_copy is"
                " false."
            )
        self._residents.require(uuid, Presence.LEAVING)
        self._residents.on(uuid, "switch the move of a guest to post-copy", _switch)

    def stay(self, uuid: str) -> None:
        allowed = (Presence.HERE, Presence.STOPPED, Presence.UNDECIDED)
        if self._residents.require(uuid, *allowed) is Presence.UNDECIDED:
            self._residents.on(uuid, "let a guest go on", lambda domain: domain.resume())

    def finish(self, uuid: str) -> bytes:
        found, folder = self._residents.presence(uuid), self._residents.folders.of(uuid)
        if found not in (Presence.ABSENT, Presence.ROOM):
            self._residents.require(uuid, Presence.STOPPED, Presence.UNDECIDED)
            self._residents.on(uuid, "remove a guest", guests.remove)
        said = b"" if folder.is_shared else console.tail(folder.console)
        folder.remove()
        return said

    def _flags(self, uuid: str, incoming: MigrationDestination) -> int:
        """Return what libvirt is to do; a guest that is held writes nothing and needs no help."""
        settings = self._settings
        if self._residents.on(uuid, "look at a guest", guests.power_state) == states.HELD:
            settings = dataclasses.replace(settings, post_copy=False, auto_converge=False)
        return flags_of(incoming, settings)

    def _await(self, uuid: str, incoming: MigrationDestination, job: futures.Future[None]) -> None:
        """Wait until the guest has gone; do what is to be done once it takes too long."""
        is_overdue = is_ended = False
        while not futures.wait([job], timeout=_LOOK).done:
            is_overdue = is_overdue or self._is_overdue(uuid)
            is_ended = is_ended or (is_overdue and self._end(uuid))
        try:
            job.result()
        except libvirt.libvirtError as error:
            raise self._translated(error, uuid, incoming, is_overdue=is_overdue) from error

    def _is_overdue(self, uuid: str) -> bool:
        with contextlib.suppress(exception.RoostError, libvirt.libvirtError):
            found = self.progress(uuid)
            if found is not None:
                limit = self._settings.seconds(found.memory_total + found.disk_total)
                return limit is not None and found.elapsed / 1000 > limit
        return False

    def _end(self, uuid: str) -> bool:
        """Have a move that takes too long come to an end; tell whether it will."""
        try:
            if self._settings.timeout_action is TimeoutAction.ABORT:
                self.abort(uuid)
            elif self._settings.post_copy:
                self.switch_to_post_copy(uuid)
            else:
                self._residents.on(uuid, "hold a guest", lambda domain: domain.suspend())
        except (exception.RoostError, libvirt.libvirtError) as error:
            LOG.info("the move of the guest %s takes too long, and goes on: %s", uuid, error)
            return False
        action = self._settings.timeout_action.value
        LOG.warning("the move of the guest %s takes too long: %s", uuid, action)
        return True

    def _translated(
        self, error: Any, uuid: str, incoming: MigrationDestination, *, is_overdue: bool
    ) -> Exception:
        code, domain, why = error.get_error_code(), error.get_error_domain(), str(error)
        if code == libvirt.VIR_ERR_OPERATION_ABORTED and is_overdue:
            return exception.Timeout(
                f"The move of the guest {uuid} took too long, and was aborted."
            )
        if code == libvirt.VIR_ERR_OPERATION_ABORTED:
            return exception.Conflict(f"The move of the guest {uuid} was aborted.", why=why)
        if code == libvirt.VIR_ERR_OPERATION_INVALID:
            return exception.Conflict(f"The guest {uuid} cannot go as it is now: {why}", why=why)
        if code in _REFUSED:
            return exception.Unsupported(f"{incoming.node} cannot take {uuid}: {why}", why=why)
        if domain in _PEER and self._residents.connection.is_alive:
            uri = incoming.details["uri"]
            message = f"The libvirtd of {incoming.node} at {uri} is not reached, or went away."
            return exception.Unavailable(message, why=why)
        message = f"The guest {uuid} could not be moved to {incoming.node}: {why}"
        return exception.Unavailable(message, why=why)


def flags_of(incoming: MigrationDestination, settings: MigrationSettings) -> int:
    """Return what libvirt is to do, in its own flags."""
    flags = _ALWAYS
    if not incoming.copied:
        # libvirt knows some file systems that hosts share; that this is one was found out already
        flags |= libvirt.VIR_MIGRATE_UNSAFE
    elif incoming.whole:
        flags |= libvirt.VIR_MIGRATE_NON_SHARED_DISK
    else:
        flags |= libvirt.VIR_MIGRATE_NON_SHARED_INC
    if settings.post_copy:
        flags |= libvirt.VIR_MIGRATE_POSTCOPY
    if settings.auto_converge:
        flags |= libvirt.VIR_MIGRATE_AUTO_CONVERGE
    return int(flags)


def parameters_of(incoming: MigrationDestination, settings: MigrationSettings) -> dict[str, Any]:
    """Return what libvirt is told of the destination, by its own names."""
    details = incoming.details
    said: dict[str, Any] = {
        libvirt.VIR_MIGRATE_PARAM_URI: details["memory_uri"],
        libvirt.VIR_MIGRATE_PARAM_DEST_XML: details["domain"],
        libvirt.VIR_MIGRATE_PARAM_PERSIST_XML: details["definition"],
    }
    if is_number(details["address"]):
        said[libvirt.VIR_MIGRATE_PARAM_LISTEN_ADDRESS] = details["address"]
    if settings.bandwidth:
        said[libvirt.VIR_MIGRATE_PARAM_BANDWIDTH] = settings.bandwidth
    if incoming.copied:
        said[libvirt.VIR_MIGRATE_PARAM_MIGRATE_DISKS] = [*incoming.copied]
    return said


def _described(domain: Any) -> tuple[str, str, tuple[MovingDisk, ...]]:
    live = domain.XMLDesc(_MOVABLE)
    disks = [
        _disk(domain, device, pathlib.Path(path))
        for device, path in presence.files_of(parse(live)).items()
    ]
    return live, domain.XMLDesc(_MOVABLE | libvirt.VIR_DOMAIN_XML_INACTIVE), tuple(disks)


def _disk(domain: Any, device: str, path: pathlib.Path) -> MovingDisk:
    size, used, _physical = domain.blockInfo(device)
    return MovingDisk(path.name, device, size=size, used=used, base=base_of(path))


def _check_movable(domain: ET.Element) -> None:
    identity = GuestIdentity.of(domain)
    if identity.rescued:
        raise exception.Conflict(f"The guest {identity.uuid} is rescued; end that first.")
    if domain.find("devices/hostdev") is not None:
        raise exception.Unsupported(
            f"The guest {identity.uuid} has a device of its host, which cannot go with it."
        )


def _switch(domain: Any) -> None:
    found = presence.progress(domain)
    if found is not None and not found.memory_total:
        raise exception.Conflict(
            f"The disks of the guest {domain.UUIDString()} are copied first; ask again when its"
            " memory is."
        )
    domain.migrateStartPostCopy()
