"""Changes of hosts, as the schedulers notify of them and list them."""

from typing import Final

from oslo_versionedobjects import fields

from roost.objects import base

# What may have changed of a host.
CLAIMS: Final = "claims"
DESCRIPTION: Final = "description"
LIVENESS: Final = "liveness"
REMOVED: Final = "removed"


@base.VersionedObjectRegistry.register
class HostChange(base.RoostObject):
    """A node as it is after a change: ``instances`` is the number of its claims.

    ``used`` is the sum of their allocations, by provider and resource class. The name of the node
    itself, as a provider, is empty.

    ``generation`` grows with every change of it, ``described`` with every one of anything but
    claims. A node that was removed and comes back has a higher ``id``, and begins at generation 1.
    Of two messages about a node the one with the higher (id, generation) is newer.

    ``changed``: "claims", "description" (inventory, enabled and so on), "liveness" or "removed";
    empty: unknown. Of a removed node all that is nullable is null.
    """

    VERSION = "1.0"
    fields = {
        "id": fields.IntegerField(),
        "host": fields.StringField(),
        "node": fields.StringField(),
        "node_uuid": fields.UUIDField(nullable=True),
        "cell_uuid": fields.UUIDField(),
        "generation": fields.IntegerField(),
        "described": fields.IntegerField(),
        "changed": fields.ListOfStringsField(default=[]),
        "enabled": fields.BooleanField(nullable=True),
        "told_down": fields.BooleanField(nullable=True),
        "reported_at": base.DateTimeField(nullable=True),
        "instances": fields.IntegerField(nullable=True),
        "used": base.DictOfDictsOfIntegersField(nullable=True),
    }


@base.VersionedObjectRegistry.register
class HostChangePage(base.RoostObject):
    """Changes in their order; ``more``: there are more now, after ``marker``."""

    VERSION = "1.0"
    fields = {
        "changes": fields.ListOfObjectsField("HostChange"),
        "marker": fields.StringField(),
        "more": fields.BooleanField(),
    }


@base.VersionedObjectRegistry.register
class HostChangesPayload(base.RoostObject):
    """Changes that a scheduler process has committed.

    The notifications of a process have the same ``stream``, and ``number`` 1, 2 and so on: who
    receives 7 after 5 has missed one.
    """

    VERSION = "1.0"
    fields = {
        "stream": fields.UUIDField(),
        "number": fields.IntegerField(),
        "changes": fields.ListOfObjectsField("HostChange"),
    }
