"""The routes of the standalone network API, and tags: the same paths below each resource."""

from typing import Any, Final, Protocol

from roost import exception
from roost.api.dependencies import Dependencies
from roost.api.policy import MEMBER, READER, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.db.api import networks
from roost.standalone import network_schemas
from roost.standalone.network_schemas import MOST_TAGS, REPLACE_TAGS, TAG_CHECK
from roost.standalone.networks import Networks, Subnets
from roost.standalone.ports import Ports


class _Noun(Protocol):
    """A handler of tagged resources: networks, subnets or ports."""

    def tags(self, call: Call) -> list[str]:
        """Return the tags of the path's resource, if the caller may see it."""

    def tagged(self, call: Call) -> str:
        """Return the id of the row with the tags, if the caller may change them."""


_COLUMNS: Final = {
    "network_id": networks.OF_NETWORKS,
    "subnet_id": networks.OF_SUBNETS,
    "port_id": networks.OF_PORTS,
}


class NetworkTags:
    """Handlers of ``/network/v2.0/{networks|subnets|ports}/{id}/tags``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._database = dependencies.api_database
        self._nouns: dict[str, _Noun] = {
            "network_id": Networks(dependencies),
            "subnet_id": Subnets(dependencies),
            "port_id": Ports(dependencies),
        }

    def list_all(self, call: Call) -> Answer:
        return Answer({"tags": self._nouns[_kind(call)].tags(call)})

    def show(self, call: Call) -> Answer:
        _check_there(call, self._nouns[_kind(call)].tags(call))
        return Answer()

    def replace(self, call: Call) -> Answer:
        return Answer({"tags": self._edit(call, lambda _: call.body["tags"])})

    def clear(self, call: Call) -> Answer:
        self._edit(call, lambda _: [])
        return Answer()

    def add(self, call: Call) -> Answer:
        TAG_CHECK.check(call.params["tag"], minor=1, what="tag")
        self._edit(call, lambda tags: [*tags, call.params["tag"]])
        return Answer()

    def remove(self, call: Call) -> Answer:
        def without(tags: Any) -> list[str]:
            _check_there(call, tags)
            return [tag for tag in tags if tag != call.params["tag"]]

        self._edit(call, without)
        return Answer()

    def _edit(self, call: Call, change: networks.Edit) -> list[str]:
        def bounded(tags: Any) -> Any:
            after = set(change(tags))
            if len(after) > MOST_TAGS:
                raise exception.Invalid(f"There are {MOST_TAGS} tags at most.")
            return after

        return self._database.write(
            networks.edit, _COLUMNS[_kind(call)], self._nouns[_kind(call)].tagged(call), bounded
        )


def _kind(call: Call) -> str:
    return next(name for name in _COLUMNS if name in call.params)


def _check_there(call: Call, tags: Any) -> None:
    if call.params["tag"] not in tags:
        raise exception.NotFound(f"Tag {call.params['tag']} could not be found.")


_SHOW_NETWORK = Rule("roost:networks:show", READER, "Show a network.")
_UPDATE_NETWORK = Rule(
    "roost:networks:update", MEMBER, "Change a network's name, description, state and tags."
)
_SHOW_SUBNET = Rule("roost:subnets:show", READER, "Show a subnet.")
_UPDATE_SUBNET = Rule("roost:subnets:update", MEMBER, "Change a subnet's name and tags.")
_SHOW_PORT = Rule("roost:ports:show", READER, "Show a port.")
_UPDATE_PORT = Rule(
    "roost:ports:update",
    MEMBER,
    "Change name, description, state and tags of a port that a user created.",
)

_NETWORKS: Final = "/network/v2.0/networks"
_SUBNETS: Final = "/network/v2.0/subnets"
_PORTS: Final = "/network/v2.0/ports"

NETWORKS_ROUTES: Final[tuple[Route, ...]] = (
    row(
        f"GET {_NETWORKS}",
        (Networks, Networks.list_all),
        Rule("roost:networks:list", READER, "List networks."),
        query=network_schemas.LIST_QUERY,
    ),
    row(
        f"POST {_NETWORKS}",
        (Networks, Networks.create),
        Rule("roost:networks:create", MEMBER, "Create a network."),
        checks=(network_schemas.SHARE_POLICY,),
        body=network_schemas.CREATE,
        status=201,
    ),
    row(f"GET {_NETWORKS}/{{network_id}}", (Networks, Networks.show), _SHOW_NETWORK),
    row(
        f"PUT {_NETWORKS}/{{network_id}}",
        (Networks, Networks.update),
        _UPDATE_NETWORK,
        body=network_schemas.UPDATE,
    ),
    row(
        f"DELETE {_NETWORKS}/{{network_id}}",
        (Networks, Networks.delete),
        Rule("roost:networks:delete", MEMBER, "Delete a network that no server or port uses."),
        status=204,
    ),
    row(
        "GET /network/v2.0/extensions",
        (Networks, Networks.extensions),
        Rule("roost:networks:extensions", READER, "List extensions."),
    ),
    row(
        f"GET {_SUBNETS}",
        (Subnets, Subnets.list_all),
        Rule("roost:subnets:list", READER, "List subnets."),
        query=network_schemas.SUBNETS_QUERY,
    ),
    row(
        f"POST {_SUBNETS}",
        (Subnets, Subnets.create),
        Rule("roost:subnets:create", MEMBER, "Create the subnet of a network."),
        body=network_schemas.CREATE_SUBNET,
        status=201,
    ),
    row(f"GET {_SUBNETS}/{{subnet_id}}", (Subnets, Subnets.show), _SHOW_SUBNET),
    row(
        f"PUT {_SUBNETS}/{{subnet_id}}",
        (Subnets, Subnets.update),
        _UPDATE_SUBNET,
        body=network_schemas.UPDATE_SUBNET,
    ),
    row(
        f"DELETE {_SUBNETS}/{{subnet_id}}",
        (Subnets, Subnets.delete),
        Rule("roost:subnets:delete", MEMBER, "Delete a subnet that no server or port uses."),
        status=204,
    ),
    row(
        f"GET {_PORTS}",
        (Ports, Ports.list_all),
        Rule("roost:ports:list", READER, "List ports."),
        query=network_schemas.PORTS_QUERY,
    ),
    row(
        f"POST {_PORTS}",
        (Ports, Ports.create),
        Rule("roost:ports:create", MEMBER, "Create a port."),
        checks=(network_schemas.CHOOSE_MAC_POLICY, network_schemas.CHOOSE_ADDRESS_POLICY),
        body=network_schemas.CREATE_PORT,
        status=201,
    ),
    row(f"GET {_PORTS}/{{port_id}}", (Ports, Ports.show), _SHOW_PORT),
    row(
        f"PUT {_PORTS}/{{port_id}}",
        (Ports, Ports.update),
        _UPDATE_PORT,
        body=network_schemas.UPDATE_PORT,
    ),
    row(
        f"DELETE {_PORTS}/{{port_id}}",
        (Ports, Ports.delete),
        Rule("roost:ports:delete", MEMBER, "Delete a port that no server has."),
        status=204,
    ),
)


# Resource -> the policies to see and to change it.
_NOUNS: Final = {
    "network": (_SHOW_NETWORK, _UPDATE_NETWORK),
    "subnet": (_SHOW_SUBNET, _UPDATE_SUBNET),
    "port": (_SHOW_PORT, _UPDATE_PORT),
}
_Tags: Final = NetworkTags


def _routes(noun: str, see: Rule, change: Rule) -> tuple[Route, ...]:
    tags = f"/network/v2.0/{noun}s/{{{noun}_id}}/tags"
    tag = f"{tags}/{{tag}}"
    return (
        row(f"GET {tags}", (_Tags, _Tags.list_all), see),
        row(f"PUT {tags}", (_Tags, _Tags.replace), change, body=REPLACE_TAGS),
        row(f"DELETE {tags}", (_Tags, _Tags.clear), change, status=204),
        row(f"GET {tag}", (_Tags, _Tags.show), see, status=204),
        row(f"PUT {tag}", (_Tags, _Tags.add), change, status=201),
        row(f"DELETE {tag}", (_Tags, _Tags.remove), change, status=204),
    )


NETWORK_TAGS_ROUTES: Final[tuple[Route, ...]] = tuple(
    route for noun, rules in _NOUNS.items() for route in _routes(noun, *rules)
)
