"""Live migration with libvirt: the source's side.

The libvirtd of the source talks to that of the destination directly (peer to peer). So a migration
depends neither on this process nor on its connection, and is limited only by its own timeout.
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
    Progress,
)
from roost.operations.presence import Presence

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
    """Implements :class:`roost.compute.virt.live_migration.MigrationSources` with libvirt."""

    def __init__(self, residents: Residents, *, node: str, settings: MigrationSettings) -> None:
        self._residents = residents
        self._node = node
        self._settings = settings

    def describe(self, uuid: str) -> MigrationSource:
        folders = self._residents.folders
        self._residents.require(uuid, Presence.HERE)
        folders.of(uuid).sign()
        domain, definition, disks = self._residents.on(uuid, "describe a guest", _described)
        kind, version, capabilities = self._residents.connection.call(
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
                "host_cpu": ET.tostring(find(parse(capabilities), "host/cpu"), encoding="unicode"),
            },
        )

    def move(self, uuid: str, incoming: MigrationDestination) -> None:
        if self._residents.presence(uuid) is Presence.ROOM:
            return
        self._residents.require(uuid, Presence.HERE)
        flags, parameters = self._flags(uuid, incoming), parameters_of(incoming, self._settings)

        def move(opened: Any) -> None:
            domain = opened.lookupByUUIDString(uuid)
            domain.migrateSetMaxDowntime(self._settings.downtime)
            domain.migrateToURI3(incoming.details["uri"], parameters, flags)

        LOG.info("[instance: %s] live migration to %s begins", uuid, incoming.node)
        self._await(uuid, incoming, self._residents.connection.start("migrate a guest", move))
        LOG.info("[instance: %s] live migration to %s is done", uuid, incoming.node)

    def progress(self, uuid: str) -> Progress | None:
        with contextlib.suppress(exception.NotFound):
            return self._residents.on(uuid, "read the progress of a migration", presence.progress)
        return None

    def abort(self, uuid: str) -> None:
        self._residents.require(uuid, Presence.LEAVING)
        self._residents.on(uuid, "abort the migration of a guest", lambda domain: domain.abortJob())

    def switch_to_post_copy(self, uuid: str) -> None:
        if not self._settings.post_copy:
            raise exception.Unsupported(
                f"{self._node} does not permit post-copy: [libvirt]"
                " live_migration_permit_post_copy is false."
            )
        self._residents.require(uuid, Presence.LEAVING)
        self._residents.on(uuid, "switch the migration of a guest to post-copy", _switch)

    def complete(self, uuid: str) -> None:
        self._residents.require(uuid, Presence.LEAVING)
        if self._settings.post_copy:
            self.switch_to_post_copy(uuid)
        else:
            self._residents.on(uuid, "pause a guest", lambda domain: domain.suspend())

    def stay(self, uuid: str) -> None:
        allowed = (Presence.HERE, Presence.STOPPED, Presence.UNDECIDED)
        if self._residents.require(uuid, *allowed) is Presence.UNDECIDED:
            self._residents.on(uuid, "unpause a guest", lambda domain: domain.resume())

    def finish(self, uuid: str) -> bytes:
        found, folder = self._residents.presence(uuid), self._residents.folders.of(uuid)
        if found not in (Presence.ABSENT, Presence.ROOM):
            self._residents.require(uuid, Presence.STOPPED, Presence.UNDECIDED)
            self._residents.on(uuid, "remove a guest", guests.remove)
        log = b"" if folder.is_shared else console.tail(folder.console)
        folder.remove()
        return log

    def _flags(self, uuid: str, incoming: MigrationDestination) -> int:
        """Return libvirt's flags; a paused guest writes nothing and needs no help."""
        settings = self._settings
        if self._residents.on(uuid, "read the state of a guest", guests.power_state) == states.HELD:
            settings = dataclasses.replace(settings, post_copy=False, auto_converge=False)
        return flags_of(incoming, settings)

    def _await(self, uuid: str, incoming: MigrationDestination, job: futures.Future[None]) -> None:
        """Wait until the migration ends; perform the timeout action when it takes too long."""
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
        """Perform the timeout action; return whether the migration will end by it."""
        try:
            if self._settings.timeout_action is TimeoutAction.ABORT:
                self.abort(uuid)
            else:
                self.complete(uuid)
        except (exception.RoostError, libvirt.libvirtError) as error:
            LOG.info("[instance: %s] overdue live migration continues: %s", uuid, error)
            return False
        action = self._settings.timeout_action.value
        LOG.warning("[instance: %s] live migration is overdue: %s", uuid, action)
        return True

    def _translated(
        self, error: Any, uuid: str, incoming: MigrationDestination, *, is_overdue: bool
    ) -> Exception:
        code, domain, why = error.get_error_code(), error.get_error_domain(), str(error)
        if code == libvirt.VIR_ERR_OPERATION_ABORTED and is_overdue:
            return exception.Timeout(
                f"The migration of the guest {uuid} took too long, and was aborted."
            )
        if code == libvirt.VIR_ERR_OPERATION_ABORTED:
            return exception.Conflict(f"The migration of the guest {uuid} was aborted.", why=why)
        if code == libvirt.VIR_ERR_OPERATION_INVALID:
            return exception.Conflict(f"The guest {uuid} cannot be migrated now: {why}", why=why)
        if code in _REFUSED:
            return exception.Unsupported(f"{incoming.node} cannot run {uuid}: {why}", why=why)
        if domain in _PEER and self._residents.connection.is_alive:
            uri = incoming.details["uri"]
            message = f"The libvirtd of {incoming.node} at {uri} cannot be reached."
            return exception.Unavailable(message, why=why)
        message = f"The guest {uuid} could not be migrated to {incoming.node}: {why}"
        return exception.Unavailable(message, why=why)


def flags_of(incoming: MigrationDestination, settings: MigrationSettings) -> int:
    """Return libvirt's flags for a migration."""
    flags = _ALWAYS
    if not incoming.copied:
        # libvirt recognizes few shared file systems; the destination has verified that this is one
        flags |= libvirt.VIR_MIGRATE_UNSAFE
    elif incoming.whole:
        flags |= libvirt.VIR_MIGRATE_NON_SHARED_DISK
    else:
        flags |= libvirt.VIR_MIGRATE_NON_SHARED_INC
    if settings.post_copy:
        flags |= libvirt.VIR_MIGRATE_POSTCOPY
    if settings.auto_converge:
        flags |= libvirt.VIR_MIGRATE_AUTO_CONVERGE
    if settings.native_tls:
        flags |= libvirt.VIR_MIGRATE_TLS
    return int(flags)


def parameters_of(incoming: MigrationDestination, settings: MigrationSettings) -> dict[str, Any]:
    """Return libvirt's parameters for a migration."""
    details = incoming.details
    parameters: dict[str, Any] = {
        libvirt.VIR_MIGRATE_PARAM_URI: details["memory_uri"],
        libvirt.VIR_MIGRATE_PARAM_DEST_XML: details["domain"],
        libvirt.VIR_MIGRATE_PARAM_PERSIST_XML: details["definition"],
    }
    if is_number(details["address"]):
        parameters[libvirt.VIR_MIGRATE_PARAM_LISTEN_ADDRESS] = details["address"]
    if settings.bandwidth:
        parameters[libvirt.VIR_MIGRATE_PARAM_BANDWIDTH] = settings.bandwidth
    if incoming.copied:
        parameters[libvirt.VIR_MIGRATE_PARAM_MIGRATE_DISKS] = [*incoming.copied]
    return parameters


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
        raise exception.Conflict(f"The guest {identity.uuid} is rescued; unrescue it first.")
    if domain.find("devices/hostdev") is not None:
        raise exception.Unsupported(
            f"The guest {identity.uuid} has a device of its host, which cannot be migrated."
        )


def _switch(domain: Any) -> None:
    found = presence.progress(domain)
    if found is not None and not found.memory_total:
        raise exception.Conflict(
            f"The disks of the guest {domain.UUIDString()} are copied first; retry when its memory"
            " is copied."
        )
    domain.migrateStartPostCopy()
