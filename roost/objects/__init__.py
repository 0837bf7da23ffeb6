"""Versioned values that cross the wire: no SQL, no lazy loading, no config.

Importing this package registers every object, which is what the serializer needs.
"""

from roost.objects.action import InstanceAction, InstanceActionEvent
from roost.objects.aggregate import Aggregate
from roost.objects.base import RoostObject
from roost.objects.build_request import BuildRequest
from roost.objects.explanation import Explanation, FilterVerdict, NearMiss, RankedHost
from roost.objects.external_event import ExternalEvent
from roost.objects.fault import InstanceFault
from roost.objects.finding import HostFinding, Whereabouts
from roost.objects.flavor import Flavor
from roost.objects.host_report import HostReport
from roost.objects.image_meta import ImageMeta
from roost.objects.instance import Instance
from roost.objects.keypair import Keypair
from roost.objects.mapping import CellMapping, HostMapping, InstanceMapping
from roost.objects.network import NetworkInfo, NetworkRequest, Vif, VifAddress
from roost.objects.news import CellLiveness, SnapshotRange
from roost.objects.notification import BuildPayload, DestinationsPayload
from roost.objects.provisions import BlockDevice, InjectedFile, Provisions
from roost.objects.request_spec import Locality, RequestSpec, Retry, TriedHost
from roost.objects.selection import Selection
from roost.objects.server_group import ServerGroup
from roost.objects.service import Service
from roost.objects.topology import (
    InstanceNUMACell,
    InstanceNUMATopology,
    InstancePlace,
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
    "HostFinding",
    "HostMapping",
    "HostReport",
    "ImageMeta",
    "InjectedFile",
    "Instance",
    "InstanceAction",
    "InstanceActionEvent",
    "InstanceFault",
    "InstanceMapping",
    "InstanceNUMACell",
    "InstanceNUMATopology",
    "InstancePlace",
    "Keypair",
    "Locality",
    "NUMACell",
    "NearMiss",
    "NetworkInfo",
    "NetworkRequest",
    "PciAllocation",
    "PciPool",
    "PciRequest",
    "Provisions",
    "RankedHost",
    "RequestSpec",
    "Retry",
    "RoostObject",
    "Selection",
    "ServerGroup",
    "Service",
    "SnapshotRange",
    "TriedHost",
    "Vif",
    "VifAddress",
    "Whereabouts",
]
