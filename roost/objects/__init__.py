"""Versioned objects for RPC messages: no SQL, no lazy loading, no config.

Importing this package registers every object for the serializer. ``base.py`` has the base class
and fields, the other modules one topic each: ``instance.py``, ``request.py`` (requests to the
scheduler, and its answers), ``flavor.py`` (images and key pairs, too), ``host.py``,
``host_changes.py``, ``groups.py``, ``inventory.py``, ``migration.py``, ``network.py``.
``tests/unit/objects`` pins fields and versions.
"""

from roost.objects.action import (
    GivenLease,
    InstanceAction,
    InstanceActionEvent,
    Operation,
    OperationParams,
)
from roost.objects.base import RoostObject
from roost.objects.explanation import Explanation, FilterVerdict, NearMiss, RankedHost
from roost.objects.flavor import Flavor, ImageMeta, Keypair
from roost.objects.groups import Aggregate, CellLiveness, ServerGroup, SnapshotRange
from roost.objects.host import HostFinding, HostReport, InstanceLocation, Service
from roost.objects.host_changes import HostChange, HostChangePage, HostChangesPayload
from roost.objects.instance import BlockDevice, GuestConfig, InjectedFile, Instance, InstanceFault
from roost.objects.inventory import ResourceInventory, ResourceProvider
from roost.objects.mapping import CellMapping, HostMapping, InstanceMapping
from roost.objects.migration import Migration
from roost.objects.network import (
    ExternalEvent,
    NetworkInfo,
    NetworkRequest,
    PortResources,
    Vif,
    VifAddress,
)
from roost.objects.notification import BuildPayload, DestinationsPayload
from roost.objects.request import (
    BuildRequest,
    Locality,
    RequestGroup,
    RequestSpec,
    ResourceRequest,
    Retry,
    Selection,
    TriedHost,
)
from roost.objects.topology import (
    InstanceNUMACell,
    InstanceNUMATopology,
    InstanceResources,
    NUMACell,
    PciAllocation,
    PciPool,
    PciRequest,
)

__all__ = [
    "Aggregate",
    "BlockDevice",
    "BuildPayload",
    "BuildRequest",
    "CellLiveness",
    "CellMapping",
    "DestinationsPayload",
    "Explanation",
    "ExternalEvent",
    "FilterVerdict",
    "Flavor",
    "GivenLease",
    "GuestConfig",
    "HostChange",
    "HostChangePage",
    "HostChangesPayload",
    "HostFinding",
    "HostMapping",
    "HostReport",
    "ImageMeta",
    "InjectedFile",
    "Instance",
    "InstanceAction",
    "InstanceActionEvent",
    "InstanceFault",
    "InstanceLocation",
    "InstanceMapping",
    "InstanceNUMACell",
    "InstanceNUMATopology",
    "InstanceResources",
    "Keypair",
    "Locality",
    "Migration",
    "NUMACell",
    "NearMiss",
    "NetworkInfo",
    "NetworkRequest",
    "Operation",
    "OperationParams",
    "PciAllocation",
    "PciPool",
    "PciRequest",
    "PortResources",
    "RankedHost",
    "RequestGroup",
    "RequestSpec",
    "ResourceInventory",
    "ResourceProvider",
    "ResourceRequest",
    "Retry",
    "RoostObject",
    "Selection",
    "ServerGroup",
    "Service",
    "SnapshotRange",
    "TriedHost",
    "Vif",
    "VifAddress",
]
