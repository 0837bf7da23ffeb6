"""The versioned answer of the scheduler."""

from oslo_versionedobjects import fields

from roost.objects import base


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
