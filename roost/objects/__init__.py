"""Versioned values that cross the wire: no SQL, no lazy loading, no config.

Importing this package registers every object, which is what the serializer needs.
"""

from roost.objects.action import InstanceAction, InstanceActionEvent
from roost.objects.base import RoostObject
from roost.objects.build_request import BuildRequest
from roost.objects.fault import InstanceFault
from roost.objects.flavor import Flavor
from roost.objects.host_report import HostReport
from roost.objects.image_meta import ImageMeta
from roost.objects.instance import Instance
from roost.objects.mapping import CellMapping, HostMapping, InstanceMapping
from roost.objects.network import NetworkInfo, NetworkRequest, Vif
from roost.objects.notification import BuildPayload, DestinationsPayload
from roost.objects.request_spec import RequestSpec, Retry, TriedHost
from roost.objects.selection import Selection
from roost.objects.service import Service

__all__ = [
    "BuildPayload",
    "BuildRequest",
    "CellMapping",
    "DestinationsPayload",
    "Flavor",
    "HostMapping",
    "HostReport",
    "ImageMeta",
    "Instance",
    "InstanceAction",
    "InstanceActionEvent",
    "InstanceFault",
    "InstanceMapping",
    "NetworkInfo",
    "NetworkRequest",
    "RequestSpec",
    "Retry",
    "RoostObject",
    "Selection",
    "Service",
    "TriedHost",
    "Vif",
]
