"""Instances as servers: the one translation between the words inside and outside.

A server's JSON is the table ``FIELDS``: name, the microversions that have it, how it is found, and
for whom.
"""

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from roost import states
from roost.api import microversions
from roost.api.views import flavors
from roost.api.views.base import links, micros, time
from roost.objects import Instance, InstanceFault, Vif

BUILD: Final = "BUILD"
ANY_TASK: Final = "*"
# Status as clients know it -> the states inside that it stands for.
STATUSES: Final[Mapping[str, tuple[str, str]]] = {
    BUILD: (states.BUILDING, ANY_TASK),
    "ACTIVE": (states.ACTIVE, ANY_TASK),
    "ERROR": (states.ERROR, ANY_TASK),
    "DELETED": (states.DELETED, ANY_TASK),
}
_STATUS_OF: Final = {vm: status for status, (vm, _) in STATUSES.items()}
_FLAVOR_EMBEDDED: Final = 47


@dataclasses.dataclass(frozen=True, kw_only=True)
class Looker:
    """Who looks at a server, in which version, and what they may see of the cloud's inside."""

    version: int
    base_url: str
    sees_host: bool = False
    sees_host_status: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Shown:
    """An instance with what is known of it elsewhere."""

    instance: Instance
    fault: InstanceFault | None = None
    host_status: str = ""
    pinned_zone: str | None = None


@dataclasses.dataclass(frozen=True)
class Field:
    """One field of a server's JSON.

    ``when`` tells whether this looker gets it of this server.
    """

    name: str
    value: Callable[[Shown, Looker], Any]
    since: int = microversions.MINIMUM
    until: int = microversions.MAXIMUM
    when: Callable[[Shown, Looker], bool] = lambda _shown, _looker: True


def status(instance: Instance) -> str:
    """Return the one word that users get for the states inside."""
    return _STATUS_OF.get(instance.vm_state, "UNKNOWN")


def brief(shown: Shown, looker: Looker) -> dict[str, Any]:
    """Return a server of a plain list."""
    instance = shown.instance
    return {
        "id": instance.uuid,
        "name": instance.display_name,
        "links": links(looker.base_url, "servers", instance.uuid),
    }


def full(shown: Shown, looker: Looker) -> dict[str, Any]:
    """Return a server with all that this looker may know."""
    return {
        field.name: field.value(shown, looker)
        for field in FIELDS
        if field.since <= looker.version <= field.until and field.when(shown, looker)
    }


def created(instance: Instance, *, password: str, base_url: str) -> dict[str, Any]:
    """Return the answer to an accepted create."""
    return {
        "id": instance.uuid,
        "links": links(base_url, "servers", instance.uuid),
        "OS-DCF:diskConfig": "MANUAL",
        "security_groups": [{"name": "default"}],
        "adminPass": password,
    }


def host_id(host: str | None, project_id: str) -> str:
    """Return what users see instead of a host: the same for all servers of a project there."""
    if not host:
        return ""
    return hashlib.sha224((project_id + host).encode()).hexdigest()


def addresses(vifs: Sequence[Vif]) -> dict[str, list[dict[str, Any]]]:
    """Return the addresses of a server by the network's name."""
    by_network: dict[str, list[dict[str, Any]]] = {}
    for vif in vifs:
        by_network.setdefault(vif.network_name, []).append(
            {
                "version": 6 if ":" in vif.ip else 4,
                "addr": vif.ip,
                "OS-EXT-IPS:type": "fixed",
                "OS-EXT-IPS-MAC:mac_addr": vif.mac,
            }
        )
    return by_network


def _updated(shown: Shown, _looker: Looker) -> str | None:
    return time(shown.instance.updated_at or shown.instance.created_at)


def _image(shown: Shown, looker: Looker) -> Any:
    image = shown.instance.image
    if image is None:
        return ""
    return {"id": image.id, "links": links(looker.base_url, "images", image.id)[1:]}


def _flavor(shown: Shown, looker: Looker) -> Mapping[str, Any]:
    flavor = shown.instance.flavor
    if looker.version >= _FLAVOR_EMBEDDED:
        return flavors.embedded(flavor)
    return {
        "id": flavor.flavorid,
        "links": links(looker.base_url, "flavors", flavor.flavorid)[1:],
    }


def _addresses(shown: Shown, _looker: Looker) -> dict[str, Any]:
    info = shown.instance.network_info
    return addresses(info.vifs if info else [])


def _fault(shown: Shown, looker: Looker) -> dict[str, Any]:
    fault = shown.fault
    if fault is None:
        return {}
    told = {"code": fault.code, "message": fault.message, "created": time(fault.created_at)}
    if looker.sees_host and fault.details:
        told["details"] = fault.details
    return told


def _has_fault(shown: Shown, _looker: Looker) -> bool:
    return shown.fault is not None and shown.instance.vm_state in (states.ERROR, states.DELETED)


def _sees_host(_shown: Shown, looker: Looker) -> bool:
    return looker.sees_host


def _sees_host_status(_shown: Shown, looker: Looker) -> bool:
    return looker.sees_host_status


def _is_building_or_up(shown: Shown, _looker: Looker) -> bool:
    return shown.instance.vm_state in (states.BUILDING, states.ACTIVE)


def _of(name: str) -> Callable[[Shown, Looker], Any]:
    return lambda shown, _looker: getattr(shown.instance, name)


def _always(value: Any) -> Callable[[Shown, Looker], Any]:
    return lambda _shown, _looker: value


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
    Field("links", lambda shown, k: links(k.base_url, "servers", shown.instance.uuid)),
    Field("OS-DCF:diskConfig", _always("MANUAL")),
    Field(
        "progress",
        lambda shown, _: 100 if shown.instance.vm_state == states.ACTIVE else 0,
        when=_is_building_or_up,
    ),
    Field("fault", _fault, when=_has_fault),
    Field("OS-EXT-AZ:availability_zone", lambda shown, _: shown.instance.availability_zone or ""),
    Field("config_drive", lambda shown, _: "True" if shown.instance.config_drive else ""),
    Field("key_name", _of("key_name")),
    Field("OS-SRV-USG:launched_at", lambda shown, _: micros(shown.instance.launched_at)),
    Field("OS-SRV-USG:terminated_at", lambda shown, _: micros(shown.instance.deleted_at)),
    Field("security_groups", lambda _s, _k: [{"name": "default"}]),
    Field("OS-EXT-STS:task_state", _of("task_state")),
    Field("OS-EXT-STS:vm_state", _of("vm_state")),
    Field("OS-EXT-STS:power_state", _of("power_state")),
    Field("os-extended-volumes:volumes_attached", lambda _s, _k: []),
    Field(_SRV + "host", _of("host"), when=_sees_host),
    Field(_SRV + "hypervisor_hostname", _of("node"), when=_sees_host),
    Field(_SRV + "instance_name", lambda s, _: f"instance-{s.instance.uuid}", when=_sees_host),
    Field(_SRV + "reservation_id", _of("reservation_id"), since=3, when=_sees_host),
    Field(_SRV + "launch_index", _of("launch_index"), since=3, when=_sees_host),
    Field(_SRV + "hostname", _of("hostname"), since=3, until=89, when=_sees_host),
    Field(_SRV + "hostname", _of("hostname"), since=90),
    Field(_SRV + "kernel_id", _always(""), since=3, when=_sees_host),
    Field(_SRV + "ramdisk_id", _always(""), since=3, when=_sees_host),
    Field(_SRV + "root_device_name", _always(None), since=3, when=_sees_host),
    Field(_SRV + "user_data", _of("user_data"), since=3, when=_sees_host),
    Field("locked", _always(False), since=9),
    Field("host_status", lambda s, _: s.host_status, since=16, when=_sees_host_status),
    Field("description", _of("display_description"), since=19),
    Field("tags", lambda shown, _: list(shown.instance.tags), since=26),
    Field("trusted_image_certificates", _always(None), since=63),
    Field("server_groups", lambda _s, _k: [], since=71),
    Field("locked_reason", _always(None), since=73),
    Field("pinned_availability_zone", lambda shown, _: shown.pinned_zone, since=96),
)
