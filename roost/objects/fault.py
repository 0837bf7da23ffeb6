"""Why an instance is in ERROR."""

import json
from collections.abc import Iterable
from typing import Any, Final

from oslo_versionedobjects import fields

from roost.objects import base
from roost.objects.explanation import FilterVerdict, plain

_COUNTED: Final = "counted"


@base.VersionedObjectRegistry.register
class InstanceFault(base.RoostObject):
    """The latest fault of an instance: ``message`` for its user, ``details`` for an admin.

    The details of one that no host could take are JSON: see :func:`placement_details`.
    """

    VERSION = "1.0"
    fields = {
        "instance_uuid": fields.UUIDField(),
        "code": fields.IntegerField(),
        "message": fields.StringField(),
        "details": fields.StringField(nullable=True),
        "host": fields.StringField(nullable=True),
        "created_at": base.DateTimeField(),
    }


def placement_details(counted: str, verdicts: Iterable[FilterVerdict]) -> str:
    """Return what a fault remembers of a question to the schedulers that had no answer.

    :param counted: the fault's message, with numbers
    """
    table = [plain(verdict) for verdict in verdicts]
    return json.dumps({_COUNTED: counted, "filters": table}, separators=(",", ":"))


def counted_message(fault: InstanceFault) -> str | None:
    """Return the message of a fault with numbers, if it is about hosts that were refused."""
    try:
        told: Any = json.loads(fault.details or "")
    except ValueError:
        return None
    return told.get(_COUNTED) if isinstance(told, dict) else None
