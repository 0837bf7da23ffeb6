"""Notifications of what is done to servers: ``instance.<event>.start``, ``.end`` and ``.error``.

Names, payloads and publishers are those that Nova documents, so its listeners understand them; what
Roost does not know is null. ``operations/kinds.py`` has the event of each operation. The modules of
``cell/`` call this after the commit of what a notification is about. One that cannot be sent is
logged and dropped; where notifications are off, nothing is read.
"""

import dataclasses
import datetime
import ipaddress
import logging
from typing import Any, Final

from roost import states
from roost.context import RequestContext
from roost.db.cell import instances, migrations
from roost.db.cell.operations import OverdueOperation
from roost.db.engine import Database
from roost.hardware.image_requirements import ImageRequirements
from roost.objects import Flavor, Instance, Keypair, Migration, Operation
from roost.objects.instance import guest_name
from roost.operations import advance, kinds
from roost.rpc.notifications import Notifier

LOG = logging.getLogger(__name__)
_BUILT: Final = "instance.create.end"
_DELETED: Final = "instance.delete.end"
_PREPARES: Final = "instance.resize_prep."
_POWER_STATES: Final = {
    states.NOSTATE: "pending",
    states.RUNNING: "running",
    states.HELD: "paused",
    states.SHUTDOWN: "shutdown",
    states.SAVED: "suspended",
}


@dataclasses.dataclass(frozen=True)
class ServerNotifications:
    """Sends the notifications of the servers of a cell."""

    database: Database
    notifier: Notifier

    def begun(self, context: RequestContext, operation: Operation) -> None:
        """Notify that a host begins an operation, or its step; maybe not for the first time."""
        self._of_operation(context, operation, "start")

    def ended(
        self, context: RequestContext, operation: Operation | OverdueOperation, reason: str | None
    ) -> None:
        """Notify that an operation, or its step, has ended.

        :param reason: why it failed, for the user; None: it did not
        """
        self._of_operation(context, operation, "end" if reason is None else "error", reason)

    def built(self, context: RequestContext, instance_uuid: str) -> None:
        """Notify that the build of a server has ended well."""
        self._send(context, instance_uuid, _BUILT)

    def obeyed(self, context: RequestContext, operation: Operation, asked: str) -> None:
        """Notify that the host of a live migration has done what it was asked."""
        for phase in ("start", "end"):
            name = f"instance.live_migration_{asked}.{phase}"
            self._send(context, operation.instance_uuid, name, host=operation.host)

    def _of_operation(
        self,
        context: RequestContext,
        operation: Operation | OverdueOperation,
        phase: str,
        reason: str | None = None,
    ) -> None:
        kind, step = kinds.get(operation.kind), operation.step
        event = kind.event_of(step, ends=phase != "start")
        if event is not None:
            name = f"instance.{event}.{phase}"
            is_back = advance.is_undo(kind, step)
            host = None if is_back else operation.host  # back on its own
            self._send(context, operation.instance_uuid, name, host=host, reason=reason)

    def _send(
        self,
        context: RequestContext,
        instance_uuid: str,
        name: str,
        *,
        host: str | None = None,
        reason: str | None = None,
    ) -> None:
        if not self.notifier.enabled:
            return
        try:
            instance, migration = self._read(instance_uuid, name)
            if instance is None:
                return  # it was deleted meanwhile
            payload = _payload(name, action_data(context, instance, reason), instance, migration)
        except Exception:
            LOG.warning("[instance: %s] could not read what the notification %s needs",
                        instance_uuid, name, exc_info=True)  # fmt: skip
            return
        host = host or instance.host
        publisher = None if host is None else f"nova-compute:{host}"
        send = self.notifier.info if reason is None else self.notifier.error
        send(context, name, payload, publisher=publisher)

    def _read(self, instance_uuid: str, name: str) -> tuple[Instance | None, Migration | None]:
        """Return a server as it is now, and its migration for the event that names the flavor."""
        with self.database.read() as session:
            instance = instances.find(session, instance_uuid, deleted=name == _DELETED)
            if not name.startswith(_PREPARES):
                return instance, None
            return instance, migrations.unfinished(session, instance_uuid)


def _payload(
    name: str, data: dict[str, Any], instance: Instance, migration: Migration | None
) -> dict[str, Any]:
    """Return the payload of a notification: some of Nova's classes have more fields."""
    if name == _BUILT:
        keypair = instance.keypair
        more: dict[str, Any] = {
            "instance_name": guest_name(instance),
            "keypairs": [_keypair(keypair)] if keypair is not None else [],
            "tags": list(instance.tags),
            "trusted_image_certificates": list(instance.trusted_certs) or None,
        }
        return _nova("InstanceCreatePayload", "1.12", data | more)
    if migration is not None:
        more = {"new_flavor": _flavor(migration.new_flavor)}
        return _nova("InstanceActionResizePrepPayload", "1.3", data | more)
    return _nova("InstanceActionPayload", "1.8", data)


def action_data(context: RequestContext, instance: Instance, reason: str | None) -> dict[str, Any]:
    """Return what version 1.8 of Nova's ``InstanceActionPayload`` says of an instance.

    :param reason: why what was done failed; None: it did not
    """
    image = instance.image
    properties = image.properties if image is not None else {}
    return {
        "uuid": instance.uuid,
        "tenant_id": instance.project_id,
        "user_id": instance.user_id,
        "reservation_id": instance.reservation_id,
        "request_id": context.request_id,
        "action_initiator_user": context.user_id,
        "action_initiator_project": context.project_id,
        "display_name": instance.display_name,
        "display_description": instance.display_description,
        "host_name": instance.hostname,
        "metadata": dict(instance.metadata),
        "key_name": instance.key_name,
        "availability_zone": instance.availability_zone,
        "host": instance.host,
        "node": instance.node,
        "state": instance.vm_state,
        "task_state": instance.task_state,
        "power_state": _POWER_STATES.get(instance.power_state),
        "progress": 0,
        "locked": instance.locked,
        "locked_reason": instance.locked_reason,
        "flavor": _flavor(instance.flavor),
        "image_uuid": image.id if image is not None else None,
        "architecture": ImageRequirements.of(properties).architecture,
        "os_type": properties.get("os_type"),
        "kernel_id": properties.get("kernel_id", ""),
        "ramdisk_id": properties.get("ramdisk_id", ""),
        "auto_disk_config": instance.disk_config,
        "block_devices": [],  # volumes
        "ip_addresses": _addresses(instance),
        "created_at": _time(instance.created_at),
        "updated_at": _time(instance.updated_at),
        "launched_at": _time(instance.launched_at),
        "deleted_at": _time(instance.deleted_at or instance.soft_deleted_at),
        "terminated_at": _time(instance.deleted_at),
        "fault": _fault(reason),
    }


def _flavor(flavor: Flavor) -> dict[str, Any]:
    known = flavor.values()
    data = {name: dict(known[name]) if name == "extra_specs" else known[name] for name in known}
    return _nova("FlavorPayload", "1.4", data | {"projects": None, "vcpu_weight": 0})


def _keypair(keypair: Keypair) -> dict[str, Any]:
    names = ("user_id", "name", "fingerprint", "public_key", "type")
    return _nova("KeypairPayload", "1.0", {name: getattr(keypair, name) for name in names})


def _addresses(instance: Instance) -> list[dict[str, Any]]:
    """Return the fixed addresses of all interfaces."""
    vifs = instance.network_info.vifs if instance.network_info is not None else []
    return [
        _nova(
            "IpPayload",
            "1.0",
            {
                "label": vif.network_name,
                "mac": vif.mac,
                "meta": {},
                "port_uuid": vif.id,
                "version": ipaddress.ip_address(ip).version,
                "address": ip,
                "device_name": f"tap{vif.id[:11]}",
            },
        )
        for vif in vifs
        for ip, is_floating in vif.all_ips()
        if not is_floating
    ]


def _fault(reason: str | None) -> dict[str, Any] | None:
    if reason is None:
        return None
    unknown = dict.fromkeys(("exception", "function_name", "module_name", "traceback"))
    return _nova("ExceptionPayload", "1.1", {**unknown, "exception_message": reason})


def _nova(name: str, version: str, data: dict[str, Any]) -> dict[str, Any]:
    return {
        "nova_object.name": name,
        "nova_object.namespace": "nova",
        "nova_object.version": version,
        "nova_object.data": data,
    }


def _time(time: datetime.datetime | None) -> str | None:
    return None if time is None else f"{time:%Y-%m-%dT%H:%M:%SZ}"
