"""Requests to the scheduler; Selection, its answer; and the build request."""

from typing import Any, Final

from oslo_versionedobjects import fields

from roost.objects import base

# Keys of labels that all hosts have.
HOST: Final = "host"
ZONE: Final = "zone"
# Hints that name servers.
SAME_HOST: Final = "same_host"
DIFFERENT_HOST: Final = "different_host"


@base.VersionedObjectRegistry.register
class TriedHost(base.RoostObject):
    """A host where a build of an instance failed, and why.

    ``reason`` is for administrators, ``user_reason`` for users (None: only that it failed).
    """

    # 1.1: user_reason
    VERSION = "1.1"
    fields = {
        "host": fields.StringField(),
        "node": fields.StringField(nullable=True),
        "reason": fields.StringField(),
        "user_reason": fields.StringField(nullable=True, default=base.NOTHING),
    }


@base.VersionedObjectRegistry.register
class Retry(base.RoostObject):
    """The hosts where builds of an instance failed, and the limit of tries."""

    VERSION = "1.0"
    fields = {
        "max_attempts": fields.IntegerField(),
        "tried": fields.ListOfObjectsField("TriedHost"),
    }


@base.VersionedObjectRegistry.register
class Locality(base.RoostObject):
    """A label of hosts: the chosen host must (``hard``) or should have it.

    The API derives such labels from the volumes and ports of a request. A label may be a key and a
    value, as in ``pool=fast``; all hosts have ``host`` and ``zone``. One of ``alternatives`` does
    as well. ``if_known``: a host without any label of the same key does, too.
    """

    # 1.1: alternatives, if_known
    VERSION = "1.1"
    fields = {
        "label": fields.StringField(),
        "hard": fields.BooleanField(),
        "alternatives": fields.ListOfStringsField(default=[]),
        "if_known": fields.BooleanField(default=False),
    }


@base.VersionedObjectRegistry.register
class RequestGroup(base.RoostObject):
    """What each consumer takes of one provider, the host as a whole or a part of it.

    Its ``name`` is for messages. ``resources`` are amounts by class, none of which is VCPU, PCPU,
    MEMORY_MB or DISK_GB; the provider has all ``required_traits`` and none of the
    ``forbidden_traits``.
    """

    VERSION = "1.0"
    fields = {
        "name": fields.StringField(),
        "resources": fields.DictOfIntegersField(),
        "required_traits": fields.ListOfStringsField(default=[]),
        "forbidden_traits": fields.ListOfStringsField(default=[]),
    }


@base.VersionedObjectRegistry.register
class ResourceRequest(base.RoostObject):
    """The requirements of one request's consumers, whatever they are: servers, volumes, jobs.

    ``resources`` has what each consumer takes, by class: VCPU, PCPU, MEMORY_MB (MiB), DISK_GB (GiB)
    or any other class that hosts have an inventory of. A host must have all ``required_traits`` and
    none of the ``forbidden_traits``. Each of the ``resource_groups`` comes from one provider; with
    the ``group_policy`` "isolate", rather than "none", each from another one.

    ``requested_host`` / ``requested_node`` name a host, which must pass all filters unless the
    request is ``forced``: then it must pass only those on resources. ``requested_cell`` (by uuid)
    and ``requested_aggregate`` (by uuid) limit the hosts; ``ignore_hosts``, ``ignore_cells`` and
    ``ignore_aggregates`` exclude hosts. ``hints`` are the user's, each a list. ``group`` has no
    members.
    """

    # 1.1: resource_groups, group_policy
    VERSION = "1.1"
    fields = {
        "request_uuid": fields.UUIDField(),
        "project_id": fields.StringField(),
        "resources": fields.DictOfIntegersField(default={}),
        "required_traits": fields.ListOfStringsField(default=[]),
        "forbidden_traits": fields.ListOfStringsField(default=[]),
        "resource_groups": fields.ListOfObjectsField("RequestGroup", default=[]),
        "group_policy": fields.StringField(default="none"),
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
class RequestSpec(ResourceRequest):
    """A request for servers: what flavor and image require, and what a ResourceRequest names.

    ``port_resources`` is what all ports of a server need.
    """

    # 1.1: the fields of ResourceRequest, and port_resources
    # 1.2: resource_groups, group_policy
    VERSION = "1.2"
    fields = {
        "user_id": fields.StringField(),
        "num_instances": fields.IntegerField(),
        "flavor": fields.ObjectField("Flavor"),
        "image": fields.ObjectField("ImageMeta", nullable=True),
        "port_resources": fields.ListOfObjectsField("PortResources", default=[]),
    }


@base.VersionedObjectRegistry.register
class BuildRequest(base.RoostObject):
    """One requested instance. Those of one POST share ``request_uuid`` and its RequestSpec.

    ``cell_uuid`` is the target cell once its creation there has begun: it may exist there already.
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

    ``limits`` is the total of each resource class for instances there, which the host checks again
    instead of its own ratios. ``numa_topology``, ``pci`` and ``allocations`` are those of the
    claim, as in InstanceResources.
    """

    # 1.1: host_ip
    # 1.2: allocations
    VERSION = "1.2"
    fields = {
        "host": fields.StringField(),
        "host_ip": fields.StringField(nullable=True, default=base.NOTHING),
        "node": fields.StringField(),
        "cell_uuid": fields.UUIDField(),
        "availability_zone": fields.StringField(nullable=True),
        "claimed": fields.BooleanField(),
        "limits": fields.DictOfIntegersField(default={}),
        "numa_topology": fields.ObjectField(
            "InstanceNUMATopology", nullable=True, default=base.NOTHING
        ),
        "pci": fields.ListOfObjectsField("PciAllocation", default=[]),
        "allocations": base.DictOfDictsOfIntegersField(default={}),
    }

    @property
    def place(self) -> dict[str, Any]:
        """The fields of an instance that say where it is, and what it has there."""
        return {
            "host": self.host,
            "node": self.node,
            "availability_zone": self.availability_zone,
            "numa_topology": self.numa_topology,
            "pci": list(self.pci),
            "allocations": dict(self.allocations),
        }
