"""Servers as JSON: the only translation of instances and their states into Nova's format.

The table ``FIELDS`` defines a server's JSON: name, value, microversions and viewers
(:class:`Viewer`). A server whose cell is unavailable is shown from the API database; since 2.69
only, as older clients do not expect missing fields.
"""

import dataclasses
import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from roost import states
from roost.api import microversions
from roost.api.compute import flavors
from roost.api.pagination import micros, self_links, time
from roost.api.request import Call
from roost.api.servers import policies
from roost.db.api.build_requests import SchedulingDetails
from roost.db.instance_query import NamedInstance
from roost.objects import (
    ImageMeta,
    Instance,
    InstanceFault,
    InstanceMapping,
    RequestSpec,
    Vif,
    instance,
)
from roost.objects.instance import counted_message
from roost.operations.kinds import KINDS
from roost.operations.transitions import TRANSITIONS
from roost.states import State

# vm_state -> status, unless the task has one.
_OF_REST: Final = {
    states.BUILDING: "BUILD",
    states.ACTIVE: "ACTIVE",
    states.STOPPED: "SHUTOFF",
    states.PAUSED: "PAUSED",
    states.SUSPENDED: "SUSPENDED",
    states.RESCUED: "RESCUE",
    states.RESIZED: "VERIFY_RESIZE",
    states.ERROR: "ERROR",
    states.SHELVED: "SHELVED",
    states.SHELVED_OFFLOADED: "SHELVED_OFFLOADED",
    states.SOFT_DELETED: "SOFT_DELETED",
    states.DELETED: "DELETED",
}
_OF_OPERATION: Final = {
    State(vm, task): status
    for kind in KINDS.values()
    for vm, status in kind.statuses.items()
    for task in kind.tasks
}
_PROGRESSING: Final = ("ACTIVE", "BUILD", "REBUILD", "RESIZE", "VERIFY_RESIZE")
_FLAVOR_EMBEDDED: Final = 47
_REBUILT_KEY: Final = 54
_REBUILT_USER_DATA: Final = 57
_UPDATED_IN_FULL: Final = 75
_IMAGE_PROPERTIES: Final = 98
# Fields in the response to an update, before 2.75.
_UPDATED: Final = {
    *("id", "name", "status", "tenant_id", "user_id", "metadata", "hostId", "image", "flavor"),
    *("created", "updated", "addresses", "accessIPv4", "accessIPv6", "links", "OS-DCF:diskConfig"),
    *("progress", "fault", "locked", "description", "tags", "trusted_image_certificates"),
    *("server_groups", "locked_reason"),
}


def _status_of(state: State) -> str:
    return _OF_OPERATION.get(state) or _OF_REST.get(state.vm, "UNKNOWN")


# Status -> internal states.
STATUSES: Final[Mapping[str, Sequence[State]]] = {
    status: [state for state in TRANSITIONS if _status_of(state) == status]
    for status in {*_OF_REST.values(), *_OF_OPERATION.values()}
}


# All statuses of the API, whether or not servers here can have them.
KNOWN_STATUSES: Final = frozenset(
    {
        *STATUSES,
        *("MIGRATING", "PASSWORD", "REBUILD", "RESCUE", "RESIZE", "REVERT_RESIZE", "UNKNOWN"),
        "VERIFY_RESIZE",
    }
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Viewer:
    """The viewer of a server: microversion, and permissions.

    ``sees_counts``: how many hosts were refused, not only why. ``sees_specs``: the extra specs of
    its flavor.
    """

    version: int
    base_url: str
    sees_host: bool = False
    sees_host_status: bool = False
    sees_counts: bool = False
    sees_specs: bool = True

    @functools.cached_property
    def fields(self) -> "Sequence[Field]":
        """The fields that this viewer may see of servers."""
        return [
            field
            for field in FIELDS
            if field.since <= self.version <= field.until
            and (field.seen_by is None or field.seen_by(self))
        ]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shown:
    """An instance with data from other tables; lists do not have ``groups``.

    ``asked``: those parts of its create request that some microversions show. ``copied``: how much
    of its disks is on the host that it moves to, in per cent.
    """

    instance: Instance
    fault: InstanceFault | None = None
    host_status: str = ""
    copied: int = 0
    asked: SchedulingDetails | None = None
    groups: Sequence[str] | None = None


@dataclasses.dataclass(frozen=True)
class Field:
    """One field of a server's JSON.

    ``when``: whether a server has it. ``seen_by``: whether a viewer may see it. None: always.
    """

    name: str
    value: Callable[[Shown, Viewer], Any]
    since: int = microversions.MINIMUM
    until: int = microversions.MAXIMUM
    when: Callable[[Shown], bool] | None = None
    seen_by: Callable[[Viewer], bool] | None = None


def status(instance: Instance) -> str:
    """Return the status for vm_state and task_state."""
    return _status_of(State(instance.vm_state, instance.task_state))


def brief(instance: Instance | NamedInstance, viewer: Viewer) -> dict[str, Any]:
    """Return a server of a plain list."""
    return {
        "id": instance.uuid,
        "name": instance.display_name,
        "links": self_links(viewer.base_url, "servers", instance.uuid),
    }


def full(shown: Shown, viewer: Viewer) -> dict[str, Any]:
    """Return a server with all fields that this viewer may see."""
    return {
        field.name: field.value(shown, viewer)
        for field in viewer.fields
        if field.when is None or field.when(shown)
    }


def updated(shown: Shown, viewer: Viewer) -> dict[str, Any]:
    """Return the response to an update: before 2.75 with fewer fields than a show."""
    fields = full(shown, viewer)
    if viewer.version >= _UPDATED_IN_FULL:
        return fields
    info = shown.instance.network_info
    fields["addresses"] = plain_addresses(info.vifs if info else [])
    return {name: value for name, value in fields.items() if name in _UPDATED}


def rebuilt(shown: Shown, viewer: Viewer) -> dict[str, Any]:
    """Return the response to an accepted rebuild: before 2.75 with fewer fields than a show."""
    fields = updated(shown, viewer)
    if viewer.version >= _REBUILT_KEY:
        fields["key_name"] = shown.instance.key_name
    if viewer.version >= _REBUILT_USER_DATA:
        fields.pop(_SRV + "user_data", None)  # administrators would have it twice
        fields["user_data"] = shown.instance.user_data
    return fields


def created(
    instance: Instance,
    *,
    groups: Sequence[str],
    password: str | None,
    base_url: str,
) -> dict[str, Any]:
    """Return the response to an accepted create, the only one with its password.

    :param groups: the security groups as in the request, by name or id
    """
    fields = {
        "id": instance.uuid,
        "links": self_links(base_url, "servers", instance.uuid),
        "OS-DCF:diskConfig": instance.disk_config,
        "security_groups": [{"name": name} for name in dict.fromkeys(groups)]
        or security_groups(instance),
    }
    return fields if password is None else {**fields, "adminPass": password}


def security_groups(instance: Instance) -> list[dict[str, str]]:
    """Return the security groups of a server, by name."""
    return [{"name": name} for name in instance.security_groups]


def host_id(host: str | None, project_id: str) -> str:
    """Return the hostId, which users see instead of the host: the same for a project's servers."""
    if not host:
        return ""
    return hashlib.sha224((project_id + host).encode()).hexdigest()


def addresses(vifs: Sequence[Vif]) -> dict[str, list[dict[str, Any]]]:
    """Return the addresses of a server by the network's name."""
    by_network: dict[str, list[dict[str, Any]]] = {}
    for vif in vifs:
        shown = [_address(ip, vif.mac, floats=floats) for ip, floats in vif.all_ips()]
        if shown:
            by_network.setdefault(vif.network_name, []).extend(shown)
    return by_network


def plain_addresses(vifs: Sequence[Vif]) -> dict[str, list[dict[str, Any]]]:
    """Return the addresses without the fields of extensions."""
    return {
        network: [{name: one[name] for name in ("version", "addr")} for one in some]
        for network, some in addresses(vifs).items()
    }


def _address(ip: str, mac: str, *, floats: bool) -> dict[str, Any]:
    return {
        "version": 6 if ":" in ip else 4,
        "addr": ip,
        "OS-EXT-IPS:type": "floating" if floats else "fixed",
        "OS-EXT-IPS-MAC:mac_addr": mac,
    }


def _updated(shown: Shown, _viewer: Viewer) -> str | None:
    return time(shown.instance.updated_at or shown.instance.created_at)


def image(found: ImageMeta | None, base_url: str) -> Any:
    """Return the image of a server."""
    if found is None:
        return ""
    return {"id": found.id, "links": self_links(base_url, "images", found.id)[1:]}


def _image(shown: Shown, viewer: Viewer) -> Any:
    found = shown.instance.image
    fields = image(found, viewer.base_url)
    if found is None or viewer.version < _IMAGE_PROPERTIES:
        return fields
    return {**fields, "properties": _properties(found)}


def _properties(found: ImageMeta) -> dict[str, str]:
    """Return the image's properties for its servers; all values are strings."""
    return {
        **found.properties,
        "base_image_ref": found.id,
        "container_format": found.container_format,
        "disk_format": found.disk_format,
        "min_disk": str(found.min_disk),
        "min_ram": str(found.min_ram),
    }


def _flavor(shown: Shown, viewer: Viewer) -> Mapping[str, Any]:
    flavor = shown.instance.flavor
    if viewer.version >= _FLAVOR_EMBEDDED:
        return flavors.embedded(flavor, with_specs=viewer.sees_specs)
    return {
        "id": flavor.flavorid,
        "links": self_links(viewer.base_url, "flavors", flavor.flavorid)[1:],
    }


def _addresses(shown: Shown, _viewer: Viewer) -> dict[str, Any]:
    info = shown.instance.network_info
    return addresses(info.vifs if info else [])


def _fault(shown: Shown, viewer: Viewer) -> dict[str, Any]:
    fault = shown.fault
    if fault is None:
        return {}
    counted = counted_message(fault)
    message = counted if counted and viewer.sees_counts else fault.message
    fields = {"code": fault.code, "message": message, "created": time(fault.created_at)}
    if viewer.sees_host and fault.details and (viewer.sees_counts or not counted):
        fields["details"] = fault.details
    return fields


def _has_fault(shown: Shown) -> bool:
    return shown.fault is not None and shown.instance.vm_state in (states.ERROR, states.DELETED)


def _sees_host(viewer: Viewer) -> bool:
    return viewer.sees_host


def _sees_host_status(viewer: Viewer) -> bool:
    return viewer.sees_host_status


def _has_progress(shown: Shown) -> bool:
    return status(shown.instance) in _PROGRESSING


def _progress(shown: Shown, _viewer: Viewer) -> int:
    if status(shown.instance) == "RESIZE":
        return shown.copied
    return 100 if shown.instance.vm_state == states.ACTIVE else 0


def _has_groups(shown: Shown) -> bool:
    return shown.groups is not None


def _pinned_zone(shown: Shown, _viewer: Viewer) -> str | None:
    return shown.asked.zone if shown.asked else None


def _hints(shown: Shown, _viewer: Viewer) -> dict[str, Any]:
    """Return the user's hints; a hint with a single value is not a list."""
    hints = shown.asked.hints if shown.asked else {}
    return {name: some[0] if len(some) == 1 else list(some) for name, some in hints.items()}


def _of(name: str) -> Callable[[Shown, Viewer], Any]:
    return lambda shown, _viewer: getattr(shown.instance, name)


def _always(value: Any) -> Callable[[Shown, Viewer], Any]:
    return lambda _shown, _viewer: value


_SRV = "OS-EXT-SRV-ATTR:"
FIELDS: Final = (
    Field("id", _of("uuid")),
    Field("name", _of("display_name")),
    Field("status", lambda shown, _: status(shown.instance)),
    Field("tenant_id", _of("project_id")),
    Field("user_id", _of("user_id")),
    Field("metadata", lambda shown, _: dict(shown.instance.metadata)),
    Field("hostId", lambda s, _: host_id(s.instance.host, s.instance.project_id)),
    Field("image", _image),
    Field("flavor", _flavor),
    Field("created", lambda shown, _: time(shown.instance.created_at)),
    Field("updated", _updated),
    Field("addresses", _addresses),
    Field("accessIPv4", lambda shown, _: shown.instance.access_ip_v4 or ""),
    Field("accessIPv6", lambda shown, _: shown.instance.access_ip_v6 or ""),
    Field("links", lambda shown, k: self_links(k.base_url, "servers", shown.instance.uuid)),
    Field("OS-DCF:diskConfig", _of("disk_config")),
    Field(
        "progress",
        _progress,
        when=_has_progress,
    ),
    Field("fault", _fault, when=_has_fault),
    Field("OS-EXT-AZ:availability_zone", lambda shown, _: shown.instance.availability_zone or ""),
    Field("config_drive", lambda shown, _: "True" if shown.instance.config_drive else ""),
    Field("key_name", _of("key_name")),
    Field("OS-SRV-USG:launched_at", lambda shown, _: micros(shown.instance.launched_at)),
    Field("OS-SRV-USG:terminated_at", lambda shown, _: micros(shown.instance.deleted_at)),
    Field(
        "security_groups",
        lambda shown, _: security_groups(shown.instance),
        when=lambda shown: bool(shown.instance.security_groups),
    ),
    Field("OS-EXT-STS:task_state", _of("task_state")),
    Field("OS-EXT-STS:vm_state", _of("vm_state")),
    Field("OS-EXT-STS:power_state", _of("power_state")),
    Field("os-extended-volumes:volumes_attached", lambda _s, _k: []),
    Field(_SRV + "host", _of("host"), seen_by=_sees_host),
    Field(_SRV + "hypervisor_hostname", _of("node"), seen_by=_sees_host),
    Field(_SRV + "instance_name", lambda s, _: instance.guest_name(s.instance), seen_by=_sees_host),
    Field(_SRV + "reservation_id", _of("reservation_id"), since=3, seen_by=_sees_host),
    Field(_SRV + "launch_index", _of("launch_index"), since=3, seen_by=_sees_host),
    Field(_SRV + "hostname", _of("hostname"), since=3, until=89, seen_by=_sees_host),
    Field(_SRV + "hostname", _of("hostname"), since=90),
    Field(_SRV + "kernel_id", _always(""), since=3, seen_by=_sees_host),
    Field(_SRV + "ramdisk_id", _always(""), since=3, seen_by=_sees_host),
    Field(
        _SRV + "root_device_name",
        lambda s, _: instance.name_of(s.instance),
        since=3,
        seen_by=_sees_host,
    ),
    Field(_SRV + "user_data", _of("user_data"), since=3, seen_by=_sees_host),
    Field("locked", _of("locked"), since=9),
    Field("host_status", lambda s, _: s.host_status, since=16, seen_by=_sees_host_status),
    Field("description", _of("display_description"), since=19),
    Field("tags", lambda shown, _: list(shown.instance.tags), since=26),
    Field("trusted_image_certificates", lambda s, _: s.instance.trusted_certs or None, since=63),
    Field("server_groups", lambda s, _: list(s.groups or ()), since=71, when=_has_groups),
    Field("locked_reason", _of("locked_reason"), since=73),
    Field("pinned_availability_zone", _pinned_zone, since=96),
    Field("scheduler_hints", _hints, since=100),
)


SINCE: Final = 69
UNKNOWN: Final = "UNKNOWN"
_GROUPS_SINCE: Final = 71


def unreachable_brief(mapping: InstanceMapping, viewer: Viewer) -> dict[str, Any]:
    """Return a server of a plain list."""
    return {
        "id": mapping.instance_uuid,
        "status": UNKNOWN,
        "links": self_links(viewer.base_url, "servers", mapping.instance_uuid),
    }


def detailed(mapping: InstanceMapping, viewer: Viewer) -> dict[str, Any]:
    """Return a server of a list with details."""
    return unreachable_brief(mapping, viewer) | {
        "tenant_id": mapping.project_id,
        "created": time(mapping.created_at),
    }


def shown(
    mapping: InstanceMapping,
    spec: RequestSpec | None,
    viewer: Viewer,
    *,
    groups: Sequence[str],
) -> dict[str, Any]:
    """Return one server, with its request spec."""
    found = detailed(mapping, viewer) | {
        "user_id": mapping.user_id,
        "OS-EXT-STS:power_state": states.NOSTATE,
        "OS-EXT-AZ:availability_zone": (spec and spec.availability_zone) or UNKNOWN,
    }
    if spec is not None:
        found |= {
            "flavor": flavors.embedded(spec.flavor, with_specs=viewer.sees_specs),
            "image": image(spec.image, viewer.base_url),
        }
    if viewer.version >= _GROUPS_SINCE:
        found["server_groups"] = list(groups)
    return found


def service(host: str, binary: str) -> dict[str, Any]:
    """Return a service of an unavailable cell in the list of services."""
    return {"binary": binary, "host": host, "status": UNKNOWN}


def viewer_of(call: Call) -> Viewer:
    return Viewer(
        version=call.version,
        base_url=call.base_url,
        sees_host=call.allows(policies.SHOW_HOST),
        sees_host_status=call.allows(policies.SHOW_HOST_STATUS),
        sees_counts=call.allows(policies.SHOW_PLACEMENT_COUNTS),
        sees_specs=call.allows(flavors.LIST_SPECS_POLICY),
    )
