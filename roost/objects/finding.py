"""What hosts and cells compare: where instances are by their rows, and what hosts find amiss."""

from typing import Final

from oslo_versionedobjects import fields

from roost.objects import base

HERE: Final = "here"
ELSEWHERE: Final = "elsewhere"
NOWHERE: Final = "nowhere"
DELETED: Final = "deleted"
UNKNOWN: Final = "unknown"


@base.VersionedObjectRegistry.register
class Whereabouts(base.RoostObject):
    """Where an instance is, to a host that asks.

    ``place`` is ``here``, ``elsewhere`` (on ``host``), ``nowhere`` (it lives, and no host has it),
    ``deleted``, or ``unknown`` to this cell; then nothing else is set. ``launched``: it has run
    once.
    """

    VERSION = "1.0"
    fields = {
        "instance_uuid": fields.UUIDField(),
        "place": fields.StringField(),
        "host": fields.StringField(nullable=True, default=base.NOTHING),
        "attempt": fields.IntegerField(default=0),
        "vm_state": fields.StringField(nullable=True, default=base.NOTHING),
        "task_state": fields.StringField(nullable=True, default=base.NOTHING),
        "power_state": fields.IntegerField(default=0),
        "launched": fields.BooleanField(default=False),
    }


@base.VersionedObjectRegistry.register
class HostFinding(base.RoostObject):
    """Something that a host found to be other than its cell says, and what it did about it.

    ``kind`` says what it did, in one word of :class:`roost.compute.reconcile.Remedy`; ``reason``
    why, in words for operators.
    """

    VERSION = "1.0"
    fields = {
        "host": fields.StringField(),
        "instance_uuid": fields.UUIDField(),
        "kind": fields.StringField(),
        "reason": fields.StringField(),
    }
