"""Policies, schemas and views of the standalone network API, in the format of Network v2.0."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Final

from roost.api.policy import ADMIN, MEMBER, Rule
from roost.api.validation import OPTIONAL_TEXT, PAGE, TEXT, UUID, always, of, query, wrapped
from roost.db.api.networks import Network
from roost.networks import LocalNetwork

SHARE_POLICY = Rule(
    "roost:networks:create:shared", ADMIN, "Create a network that all projects share."
)
# Named as in Neutron; checked with the project that owns the network, not the port.
CHOOSE_MAC_POLICY = Rule(
    "create_port:mac_address",
    MEMBER,
    "Choose the MAC address of a port, in a network of one's own project.",
)
CHOOSE_ADDRESS_POLICY = Rule(
    "create_port:fixed_ips:ip_address",
    MEMBER,
    "Choose the IP address of a port or interface, in a network of one's own project.",
    also=("POST /v2.1/servers", "POST /v2.1/servers/{server_id}/os-interface"),
)

_FIELDS: Final = {"fields": TEXT, "sort_key": TEXT, "sort_dir": TEXT}
_PROJECT: Final = {"project_id": TEXT, "tenant_id": TEXT}
_YES: Final = {"type": "boolean", "enum": [True]}
_FLAG: Final = {"type": "boolean"}
_NO: Final = {"type": "boolean", "enum": [False]}
_NOTHING: Final = {"type": "array", "maxItems": 0}
_NAMED: Final[dict[str, Any]] = {"name": TEXT, "description": TEXT, **_PROJECT}
_MAC: Final = {"type": "string", "pattern": "^[0-9a-fA-F][02468aceACE](:[0-9a-fA-F]{2}){5}$"}

MOST_TAGS: Final = 128
_TAG: Final = {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[^,]+$"}
TAG_CHECK: Final = always(_TAG)
REPLACE_TAGS: Final = always(
    wrapped("tags", {"type": "array", "items": _TAG, "maxItems": MOST_TAGS})
)
_TAG_FILTERS: Final = dict.fromkeys(("tags", "tags-any", "not-tags", "not-tags-any"), TEXT)

LIST_QUERY: Final = always(
    query(
        {
            **PAGE,
            **_FIELDS,
            **_PROJECT,
            **_TAG_FILTERS,
            **dict.fromkeys(("name", "id", "status", "description"), TEXT),
            **dict.fromkeys(("shared", "router:external", "admin_state_up"), TEXT),
        }
    )
)
CREATE: Final = always(
    wrapped(
        "network",
        of(
            {
                **_NAMED,
                "shared": {"type": "boolean"},
                "admin_state_up": _FLAG,
                "router:external": _NO,
            }
        ),
    )
)
# Users may change texts and the state; other fields in a body must have their fixed values.
_TEXTS: Final = {"name": TEXT, "description": TEXT}
UPDATE: Final = always(wrapped("network", of({**_TEXTS, "admin_state_up": _FLAG})))
UPDATE_SUBNET: Final = always(wrapped("subnet", of({"name": TEXT, "enable_dhcp": _YES})))
UPDATE_PORT: Final = always(
    wrapped("port", of({**_TEXTS, "admin_state_up": _FLAG, "security_groups": _NOTHING}))
)
SUBNETS_QUERY: Final = always(
    query(
        {
            **PAGE,
            **_FIELDS,
            **_PROJECT,
            **_TAG_FILTERS,
            **dict.fromkeys(
                ("name", "id", "network_id", "cidr", "ip_version", "enable_dhcp"), TEXT
            ),
        }
    )
)
CREATE_SUBNET: Final = always(
    wrapped(
        "subnet",
        of(
            {
                "name": TEXT,
                **_PROJECT,
                "network_id": UUID,
                "cidr": {"type": "string", "maxLength": 64},
                "ip_version": {"enum": [4, 6]},
                "gateway_ip": OPTIONAL_TEXT,
                "enable_dhcp": _YES,
            },
            required=["network_id", "cidr"],
        ),
    )
)
PORTS_QUERY: Final = always(
    query(
        {
            **PAGE,
            **_FIELDS,
            **_PROJECT,
            **_TAG_FILTERS,
            **dict.fromkeys(
                (
                    *("id", "name", "network_id", "device_id", "device_owner", "mac_address"),
                    *("fixed_ips", "status", "description"),
                ),
                TEXT,
            ),
        }
    )
)
_FIXED_IP: Final = of({"ip_address": {"type": "string", "format": "ip"}, "subnet_id": UUID})
CREATE_PORT: Final = always(
    wrapped(
        "port",
        of(
            {
                **_NAMED,
                "network_id": UUID,
                "fixed_ips": {"type": "array", "items": _FIXED_IP, "maxItems": 1},
                "mac_address": _MAC,
                "admin_state_up": _FLAG,
                "security_groups": _NOTHING,
            },
            required=["network_id"],
        ),
    )
)


def _extension(alias: str, name: str, description: str, updated: str) -> dict[str, Any]:
    shown = {"alias": alias, "name": name, "description": description}
    return {**shown, "updated": f"{updated}T00:00:00-00:00", "links": []}


SHOWN_EXTENSIONS: Final = (
    _extension("security-group", "security-group", "Security groups.", "2012-10-05"),
    _extension(
        "standard-attr-tag",
        "Tags",
        "Networks, subnets and ports have tags, and lists find them by these.",
        "2017-01-01",
    ),
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ShownPort:
    """A port, merged from the API level and its cell; no host for callers who may not see it."""

    id: str
    project_id: str
    network_id: str
    name: str = ""
    description: str = ""
    ip: str
    mac: str
    instance_uuid: str | None
    host: str | None = None
    is_plugged: bool = False
    admin_state_up: bool = True
    tags: Sequence[str] = ()


def full(network: LocalNetwork | Network) -> dict[str, Any]:
    """Return a network; configured ones are shared by all projects."""
    made = network if isinstance(network, Network) else None
    project = made.project_id if made else ""
    return {
        "id": network.id,
        "name": network.name,
        "description": made.description if made else network.cidr,
        "status": "ACTIVE",
        "admin_state_up": made.admin_state_up if made else True,
        "shared": made.shared if made else True,
        "router:external": False,
        "mtu": 1500,
        "subnets": [subnet_id(network)] if network.cidr else [],
        "tenant_id": project,
        "project_id": project,
        "tags": list(made.tags) if made else [],
    }


def subnet_id(network: LocalNetwork | Network) -> str:
    return _local(network).subnet_id


def subnet(network: LocalNetwork | Network) -> dict[str, Any]:
    """Return the subnet of a network that has one."""
    made, local = network if isinstance(network, Network) else None, _local(network)
    project = made.project_id if made else ""
    return {
        "id": local.subnet_id,
        "name": (made.subnet_name if made else network.name) or "",
        "network_id": network.id,
        "cidr": local.cidr,
        "ip_version": local.subnet.version,
        "gateway_ip": local.gateway,
        "enable_dhcp": True,
        "dns_nameservers": [],
        "host_routes": [],
        "allocation_pools": [{"start": str(local.subnet[2]), "end": local.last}],
        "tenant_id": project,
        "project_id": project,
        "tags": list(made.subnet_tags) if made else [],
    }


def port(one: ShownPort) -> dict[str, Any]:
    """Return a port."""
    subnet = LocalNetwork(name="", cidr="0.0.0.0/0", given_id=one.network_id).subnet_id
    return {
        "id": one.id,
        "name": one.name,
        "description": one.description,
        "network_id": one.network_id,
        "mac_address": one.mac,
        "fixed_ips": [{"subnet_id": subnet, "ip_address": one.ip}],
        "device_id": one.instance_uuid or "",
        "device_owner": "compute:nova" if one.instance_uuid else "",
        "status": "ACTIVE" if one.is_plugged and one.admin_state_up else "DOWN",
        "admin_state_up": one.admin_state_up,
        "security_groups": [],
        "allowed_address_pairs": [],
        "tenant_id": one.project_id,
        "project_id": one.project_id,
        "tags": list(one.tags),
        **({"binding:host_id": one.host} if one.host else {}),
    }


def _local(network: LocalNetwork | Network) -> LocalNetwork:
    if isinstance(network, LocalNetwork):
        return network
    return LocalNetwork(name=network.name, cidr=network.cidr or "", given_id=network.id)
