"""RequestSpec, the question put to the scheduler; Selection, its answer; and the build request."""

from oslo_versionedobjects import fields

from roost.objects import base


@base.VersionedObjectRegistry.register
class TriedHost(base.RoostObject):
    """A host that an instance was tried on, and why that failed.

    ``reason`` is for administrators, ``told`` what users read of it (None: only that it failed).
    """

    # 1.1: told
    VERSION = "1.1"
    fields = {
        "host": fields.StringField(),
        "node": fields.StringField(nullable=True),
        "reason": fields.StringField(),
        "told": fields.StringField(nullable=True, default=base.NOTHING),
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
class Locality(base.RoostObject):
    """A label that hosts may carry: one must (``hard``) or should have it.

    Volumes and ports of a request become such labels at API level.
    """

    VERSION = "1.0"
    fields = {
        "label": fields.StringField(),
        "hard": fields.BooleanField(),
    }


@base.VersionedObjectRegistry.register
class RequestSpec(base.RoostObject):
    """What the instances of one request need of a host.

    ``requested_host`` / ``requested_node`` name a host, which must pass all filters unless the
    request is ``forced``: then only those count that guard its resources. ``requested_cell`` (by
    uuid) and ``requested_aggregate`` (by uuid) keep to some hosts; ``ignore_hosts``,
    ``ignore_cells`` and ``ignore_aggregates`` rule some out. ``hints`` are the user's, each a list.
    ``group`` comes without members.
    """

    VERSION = "1.0"
    fields = {
        "request_uuid": fields.UUIDField(),
        "project_id": fields.StringField(),
        "user_id": fields.StringField(),
        "num_instances": fields.IntegerField(),
        "flavor": fields.ObjectField("Flavor"),
        "image": fields.ObjectField("ImageMeta", nullable=True),
        "availability_zone": fields.StringField(nullable=True, default=base.NOTHING),
        "requested_host": fields.StringField(nullable=True, default=base.NOTHING),
        "requested_node": fields.StringField(nullable=True, default=base.NOTHING),
        "forced": fields.BooleanField(default=False),
        "requested_cell": fields.UUIDField(nullable=True, default=base.NOTHING),
        "requested_aggregate": fields.UUIDField(nullable=True, default=base.NOTHING),
        "ignore_hosts": fields.ListOfStringsField(default=[]),
        "ignore_cells": fields.ListOfStringsField(default=[]),
        "ignore_aggregates": fields.ListOfStringsField(default=[]),
        "hints": fields.DictOfListOfStringsField(default={}),
        "group": fields.ObjectField("ServerGroup", nullable=True, default=base.NOTHING),
        "numa_topology": fields.ObjectField(
            "InstanceNUMATopology", nullable=True, default=base.NOTHING
        ),
        "pci_requests": fields.ListOfObjectsField("PciRequest", default=[]),
        "locality": fields.ListOfObjectsField("Locality", default=[]),
        "retry": fields.ObjectField("Retry", nullable=True, default=base.NOTHING),
    }


@base.VersionedObjectRegistry.register
class BuildRequest(base.RoostObject):
    """One wished-for instance. Those of one POST share ``request_uuid`` and its RequestSpec.

    ``cell_uuid`` is where somebody began to create it: that cell may have it already.
    """

    VERSION = "1.0"
    fields = {
        "instance_uuid": fields.UUIDField(),
        "request_uuid": fields.UUIDField(),
        "request_id": fields.StringField(),
        "project_id": fields.StringField(),
        "user_id": fields.StringField(),
        "instance": fields.ObjectField("Instance"),
        "cell_uuid": fields.UUIDField(nullable=True, default=base.NOTHING),
        "created_at": base.DateTimeField(),
    }


@base.VersionedObjectRegistry.register
class Selection(base.RoostObject):
    """A host for one instance.

    The first of an instance's list is the chosen one and holds a claim; the others are alternates
    in the same cell, which hold none.

    ``limits`` is how much of each resource instances may have there altogether, which the host
    checks again instead of its own ratios. ``numa_topology`` and ``pci`` are what the claim holds.
    """

    VERSION = "1.0"
    fields = {
        "host": fields.StringField(),
        "node": fields.StringField(),
        "cell_uuid": fields.UUIDField(),
        "availability_zone": fields.StringField(nullable=True),
        "claimed": fields.BooleanField(),
        "limits": fields.DictOfIntegersField(default={}),
        "numa_topology": fields.ObjectField(
            "InstanceNUMATopology", nullable=True, default=base.NOTHING
        ),
        "pci": fields.ListOfObjectsField("PciAllocation", default=[]),
    }
