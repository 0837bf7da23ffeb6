"""Rules of the networks, subnets and ports of the local driver."""

from roost.api.policies.base import ADMIN, MEMBER, READER, rule

LIST = "roost:networks:list"
SHOW = "roost:networks:show"
CREATE = "roost:networks:create"
SHARE = "roost:networks:create:shared"
UPDATE = "roost:networks:update"
DELETE = "roost:networks:delete"
EXTENSIONS = "roost:networks:extensions"
LIST_SUBNETS = "roost:subnets:list"
SHOW_SUBNET = "roost:subnets:show"
CREATE_SUBNET = "roost:subnets:create"
UPDATE_SUBNET = "roost:subnets:update"
DELETE_SUBNET = "roost:subnets:delete"
LIST_PORTS = "roost:ports:list"
SHOW_PORT = "roost:ports:show"
CREATE_PORT = "roost:ports:create"
UPDATE_PORT = "roost:ports:update"
DELETE_PORT = "roost:ports:delete"
# Named as in Neutron; judged with the project that owns the network, of whomever the port is.
CHOOSE_MAC = "create_port:mac_address"
CHOOSE_ADDRESS = "create_port:fixed_ips:ip_address"

_NETWORK, _SUBNET, _PORT = (
    f"/network/v2.0/{noun}s/{{{noun}_id}}" for noun in ("network", "subnet", "port")
)


def _seeing(thing: str) -> tuple[str, ...]:
    return f"GET {thing}/tags", f"GET {thing}/tags/{{tag}}"


def _tagging(thing: str) -> tuple[str, ...]:
    tags, tag = f"{thing}/tags", f"{thing}/tags/{{tag}}"
    return f"PUT {tags}", f"DELETE {tags}", f"PUT {tag}", f"DELETE {tag}"


RULES = [
    rule(LIST, READER, "List networks.", "GET /network/v2.0/networks"),
    rule(SHOW, READER, "Show a network.", f"GET {_NETWORK}", *_seeing(_NETWORK)),
    rule(CREATE, MEMBER, "Make a network.", "POST /network/v2.0/networks"),
    rule(SHARE, ADMIN, "Make a network that all projects share.", "POST /network/v2.0/networks"),
    rule(
        UPDATE,
        MEMBER,
        "Change a network's name, description, state and tags.",
        f"PUT {_NETWORK}",
        *_tagging(_NETWORK),
    ),
    rule(DELETE, MEMBER, "Delete a network that nobody uses.", f"DELETE {_NETWORK}"),
    rule(EXTENSIONS, READER, "List extensions.", "GET /network/v2.0/extensions"),
    rule(LIST_SUBNETS, READER, "List subnets.", "GET /network/v2.0/subnets"),
    rule(SHOW_SUBNET, READER, "Show a subnet.", f"GET {_SUBNET}", *_seeing(_SUBNET)),
    rule(CREATE_SUBNET, MEMBER, "Give a network its subnet.", "POST /network/v2.0/subnets"),
    rule(
        UPDATE_SUBNET,
        MEMBER,
        "Change a subnet's name and tags.",
        f"PUT {_SUBNET}",
        *_tagging(_SUBNET),
    ),
    rule(DELETE_SUBNET, MEMBER, "Delete a subnet that nobody uses.", f"DELETE {_SUBNET}"),
    rule(LIST_PORTS, READER, "List ports.", "GET /network/v2.0/ports"),
    rule(SHOW_PORT, READER, "Show a port.", f"GET {_PORT}", *_seeing(_PORT)),
    rule(CREATE_PORT, MEMBER, "Make a port beforehand.", "POST /network/v2.0/ports"),
    rule(
        CHOOSE_MAC,
        MEMBER,
        "Choose the MAC address of a port, in a network of one's own project.",
        "POST /network/v2.0/ports",
    ),
    rule(
        CHOOSE_ADDRESS,
        MEMBER,
        "Choose the IP address of a port or interface, in a network of one's own project.",
        "POST /network/v2.0/ports",
        "POST /v2.1/servers",
        "POST /v2.1/servers/{server_id}/os-interface",
    ),
    rule(
        UPDATE_PORT,
        MEMBER,
        "Change name, description, state and tags of a port made beforehand.",
        f"PUT {_PORT}",
        *_tagging(_PORT),
    ),
    rule(DELETE_PORT, MEMBER, "Delete a port that no server has.", f"DELETE {_PORT}"),
]
