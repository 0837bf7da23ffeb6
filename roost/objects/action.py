"""Instance actions (requests on an instance) and their events; operations under way."""

from typing import Any

from oslo_versionedobjects import fields

from roost.objects import base


@base.VersionedObjectRegistry.register
class InstanceActionEvent(base.RoostObject):
    """One step of an action: its name, host, times and result.

    ``result`` is Success or Error; ``details`` is the user's message on why it failed.
    """

    VERSION = "1.0"
    fields = {
        "event": fields.StringField(),
        "host": fields.StringField(nullable=True),
        "start_time": base.DateTimeField(),
        "finish_time": base.DateTimeField(nullable=True),
        "result": fields.StringField(nullable=True),
        "details": fields.StringField(nullable=True),
    }


@base.VersionedObjectRegistry.register
class InstanceAction(base.RoostObject):
    """One request on an instance, with its events in order of their start."""

    VERSION = "1.0"
    fields = {
        "instance_uuid": fields.UUIDField(),
        "action": fields.StringField(),
        "request_id": fields.StringField(),
        "user_id": fields.StringField(nullable=True),
        "project_id": fields.StringField(nullable=True),
        "start_time": base.DateTimeField(),
        "finish_time": base.DateTimeField(nullable=True),
        "updated_at": base.DateTimeField(nullable=True),
        "message": fields.StringField(nullable=True),
        "events": fields.ListOfObjectsField("InstanceActionEvent"),
    }


@base.VersionedObjectRegistry.register
class OperationParams(base.RoostObject):
    """The arguments of an operation; each kind has those that it needs.

    ``image`` is the image that it is about. ``spec``, the request for the destination of a move, is
    for conductors only. ``port_id`` is the port that it is about, or the mark of one that the
    network service is to make; ``request`` is what is to be attached.

    Of a build, ``spec`` is the request, ``selection`` is how the schedulers chose the host of this
    attempt, ``alternates`` are further hosts, and ``tried`` those that have failed.
    """

    VERSION = "1.0"
    fields = {
        "image": fields.ObjectField("ImageMeta", nullable=True, default=base.NOTHING),
        "spec": fields.ObjectField("RequestSpec", nullable=True, default=base.NOTHING),
        "port_id": fields.StringField(nullable=True, default=base.NOTHING),
        "request": fields.ObjectField("NetworkRequest", nullable=True, default=base.NOTHING),
        "selection": fields.ObjectField("Selection", nullable=True, default=base.NOTHING),
        "alternates": fields.ListOfObjectsField("Selection", default=[]),
        "tried": fields.ListOfObjectsField("TriedHost", default=[]),
    }

    def for_host(self) -> "OperationParams":
        """Return those that a host needs."""
        return OperationParams.of(**self.values() | {"spec": None})

    def but(self, **changes: Any) -> "OperationParams":
        """Return these with some changed."""
        return OperationParams.of(**self.values() | changes)


@base.VersionedObjectRegistry.register
class GivenLease(base.RoostObject):
    """A lease on an operation that its row has when the message is sent that asks for it.

    By the clock of the cell's database: a host can know an upper bound of that.
    """

    VERSION = "1.0"
    fields = {
        "since": base.DateTimeField(),
        "until": base.DateTimeField(),
    }


@base.VersionedObjectRegistry.register
class Operation(base.RoostObject):
    """One thing that is being done to an instance, from its acceptance to its end.

    ``kind`` is a name of :data:`roost.operations.kinds.KINDS`, ``host`` works on it, ``params``
    are its arguments, ``step`` is what it does now; without a host, a conductor does it. Of a
    build, ``attempt`` numbers those on all hosts: a message of an earlier one means nothing. Of a
    move, ``handover`` is what the destination has prepared for the source, as JSON. ``reason`` is
    why it is being undone, or will fail, for its user. Only some readers set ``instance``,
    ``migration`` and ``created_at``. ``given`` is the lease that its host gets with its message.
    """

    # 1.1: step, handover, migration; 1.2: params in place of image, attempt, reason; 1.3: given
    VERSION = "1.3"
    fields = {
        "uuid": fields.UUIDField(),
        "instance_uuid": fields.UUIDField(),
        "kind": fields.StringField(),
        "host": fields.StringField(nullable=True),
        "params": fields.ObjectField("OperationParams", nullable=True, default=base.NOTHING),
        "created_at": base.DateTimeField(nullable=True, default=base.NOTHING),
        "instance": fields.ObjectField("Instance", nullable=True, default=base.NOTHING),
        "step": fields.StringField(),
        "attempt": fields.IntegerField(default=1),
        "reason": fields.StringField(nullable=True, default=base.NOTHING),
        "handover": fields.StringField(nullable=True, default=base.NOTHING),
        "migration": fields.ObjectField("Migration", nullable=True, default=base.NOTHING),
        "given": fields.ObjectField("GivenLease", nullable=True, default=base.NOTHING),
    }

    @property
    def worker(self) -> str:
        """The host of a step that hosts do."""
        assert self.host is not None, f"a conductor does {self.step}"
        return str(self.host)
