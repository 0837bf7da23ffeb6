"""The versioned question put to the scheduler."""

from oslo_versionedobjects import fields

from roost.objects import base


@base.VersionedObjectRegistry.register
class TriedHost(base.RoostObject):
    """A host that an instance was tried on, and why that failed."""

    VERSION = "1.0"
    fields = {
        "host": fields.StringField(),
        "node": fields.StringField(nullable=True),
        "reason": fields.StringField(),
    }


@base.VersionedObjectRegistry.register
class Retry(base.RoostObject):
    """How often an instance was tried, and where."""

    VERSION = "1.0"
    fields = {
        "max_attempts": fields.IntegerField(),
        "tried": fields.ListOfObjectsField("TriedHost"),
    }


@base.VersionedObjectRegistry.register
class RequestSpec(base.RoostObject):
    """What the instances of one request need of a host.

    ``requested_host`` / ``requested_node`` force a host; ``ignore_hosts`` rules some out;
    ``requested_cell`` keeps to one cell (by uuid) and ``ignore_cells`` off some; ``hints`` are the
    user's, each a list.
    """

    VERSION = "1.0"
    fields = {
        "request_uuid": fields.UUIDField(),
        "project_id": fields.StringField(),
        "user_id": fields.StringField(),
        "num_instances": fields.IntegerField(),
        "flavor": fields.ObjectField("Flavor"),
        "image": fields.ObjectField("ImageMeta", nullable=True),
        "availability_zone": fields.StringField(nullable=True),
        "requested_host": fields.StringField(nullable=True),
        "requested_node": fields.StringField(nullable=True),
        "requested_cell": fields.UUIDField(nullable=True),
        "ignore_hosts": fields.ListOfStringsField(),
        "ignore_cells": fields.ListOfStringsField(),
        "hints": fields.DictOfListOfStringsField(),
        "retry": fields.ObjectField("Retry", nullable=True),
    }
