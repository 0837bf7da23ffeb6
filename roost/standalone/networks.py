"""Networks and their subnets: those of the options, which are read-only, and those of users."""

import uuid
from collections.abc import Collection
from typing import Any

from roost import exception
from roost.api.dependencies import Dependencies
from roost.api.request import Answer, Call, truth
from roost.db.api import networks
from roost.db.api.networks import Network
from roost.networks import LocalNetwork, check_cidr
from roost.standalone import network_schemas
from roost.standalone.known_networks import LocalNetworks


def passes(call: Call, tags: Collection[str]) -> bool:
    """Return whether these tags match the tag filters of the query."""
    has = set(tags)
    return (
        has.issuperset(_asked(call, "tags"))
        and ("tags-any" not in call.query or not has.isdisjoint(_asked(call, "tags-any")))
        and ("not-tags" not in call.query or not has.issuperset(_asked(call, "not-tags")))
        and has.isdisjoint(_asked(call, "not-tags-any"))
    )


def _asked(call: Call, name: str) -> list[str]:
    return [tag for value in call.query.all(name) for tag in value.split(",") if tag]


_NETWORK_FILTERS = ("name", "id", "status", "project_id", "tenant_id", "description")
_SUBNET_FILTERS = ("name", "id", "network_id", "cidr", "project_id", "tenant_id")
_FLAGS = ("shared", "router:external", "admin_state_up", "enable_dhcp")
_NUMBERS = ("ip_version",)
_CHANGED = ("name", "description", "admin_state_up")


class Networks:
    """Handlers of ``/network/v2.0/networks``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._networks = LocalNetworks.of(dependencies)
        self._database = dependencies.api_database
        self._now = dependencies.now

    def list_all(self, call: Call) -> Answer:
        shown = [network_schemas.full(one) for one in _seen(self._networks, call)]
        return Answer({"networks": [one for one in shown if _passes(call, one, _NETWORK_FILTERS)]})

    def show(self, call: Call) -> Answer:
        found = self._networks.find(call, call.params["network_id"])
        return Answer({"network": network_schemas.full(found)})

    def extensions(self, _call: Call) -> Answer:
        """Return the extensions, which clients check before they use them."""
        return Answer({"extensions": list(network_schemas.SHOWN_EXTENSIONS)})

    def create(self, call: Call) -> Answer:
        network = self._described(call)
        if network.shared:
            call.require(network_schemas.SHARE_POLICY)
        self._database.write(networks.create, network)
        return Answer({"network": network_schemas.full(network)})

    def update(self, call: Call) -> Answer:
        network = own(call, self._networks, call.params["network_id"])
        changes = changes_of(call.body["network"])
        changed = self._database.write(networks.change, network.id, changes)
        return Answer({"network": network_schemas.full(changed)})

    def delete(self, call: Call) -> Answer:
        network = own(call, self._networks, call.params["network_id"])
        self._networks.forget_departed(network.id)
        self._database.write(networks.delete, network.id)
        return Answer()

    def tags(self, call: Call) -> list[str]:
        """Return the tags of a network; configured networks have none."""
        return list(
            network_schemas.full(self._networks.find(call, call.params["network_id"]))["tags"]
        )

    def tagged(self, call: Call) -> str:
        """Return the id of the network whose tags the caller may change."""
        return own(call, self._networks, call.params["network_id"]).id

    def _described(self, call: Call) -> Network:
        asked = call.body["network"]
        return Network(
            id=str(uuid.uuid4()),
            project_id=owner(call, asked),
            name=asked.get("name", ""),
            description=asked.get("description", ""),
            shared=asked.get("shared", False),
            cidr=None,
            subnet_name=None,
            created_at=self._now(),
            admin_state_up=asked.get("admin_state_up", True),
        )


class Subnets:
    """Handlers of ``/network/v2.0/subnets``: a network has one, with an id derived from its own."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._networks = LocalNetworks.of(dependencies)
        self._database = dependencies.api_database

    def list_all(self, call: Call) -> Answer:
        shown = [network_schemas.subnet(one) for one in _seen(self._networks, call) if one.cidr]
        return Answer({"subnets": [one for one in shown if _passes(call, one, _SUBNET_FILTERS)]})

    def show(self, call: Call) -> Answer:
        return Answer({"subnet": network_schemas.subnet(self._find(call))})

    def create(self, call: Call) -> Answer:
        asked = call.body["subnet"]
        cidr = _cidr(asked)
        try:
            network = own(call, self._networks, asked["network_id"])
        except exception.NotFound as error:
            raise exception.Invalid(error.message) from error
        self._database.write(networks.give_subnet, network, cidr=cidr, name=asked.get("name", ""))
        made = self._networks.find(call, network.id)
        return Answer({"subnet": network_schemas.subnet(made)})

    def update(self, call: Call) -> Answer:
        network = own(call, self._networks, self._find(call).id)
        asked = call.body["subnet"]
        changes = {"subnet_name": asked["name"]} if "name" in asked else {}
        changed = self._database.write(networks.change, network.id, changes)
        return Answer({"subnet": network_schemas.subnet(changed)})

    def delete(self, call: Call) -> Answer:
        network = own(call, self._networks, self._find(call).id)
        self._networks.forget_departed(network.id)
        self._database.write(networks.take_subnet, network.id)
        return Answer()

    def tags(self, call: Call) -> list[str]:
        """Return the tags of a subnet; those of configured networks have none."""
        return list(network_schemas.subnet(self._find(call))["tags"])

    def tagged(self, call: Call) -> str:
        """Return the id of the network whose subnet's tags the caller may change."""
        return own(call, self._networks, self._find(call).id).id

    def _find(self, call: Call) -> LocalNetwork | Network:
        for network in _seen(self._networks, call):
            if network.cidr and network_schemas.subnet_id(network) == call.params["subnet_id"]:
                return network
        raise exception.NotFound(f"Subnet {call.params['subnet_id']} could not be found.")


def own(call: Call, networks: LocalNetworks, network_id: str) -> Network:
    """Return a network that the caller may change.

    :raises roost.exception.NotFound: when there is none that the caller may see
    :raises roost.exception.Forbidden: when another project shares it
    :raises roost.exception.Conflict: when it is a configured network
    """
    found = networks.find(call, network_id)
    if isinstance(found, LocalNetwork):
        raise exception.Conflict(f"Network {found.name} is configured by the operator.")
    call.require_for(found.project_id)
    return found


def changes_of(asked: dict[str, Any]) -> dict[str, Any]:
    """Return the changeable fields of an update's body."""
    return {name: asked[name] for name in _CHANGED if name in asked}


def owner(call: Call, asked: dict[str, Any]) -> str:
    """Return the project of a new resource; only administrators may name another one."""
    project = str(asked.get("project_id") or asked.get("tenant_id") or call.project_id)
    call.require_for(project)
    return project


def _seen(networks: LocalNetworks, call: Call) -> list[LocalNetwork | Network]:
    return [*networks.configured, *networks.made(call)]


def _passes(call: Call, shown: dict[str, Any], filters: tuple[str, ...]) -> bool:
    for name in _FLAGS:
        asked = call.query.one(name)
        if asked is not None and shown.get(name, False) != truth(asked, name=name):
            return False
    if not passes(call, shown["tags"]):
        return False
    return all(
        str(shown.get(name)) in call.query.all(name)
        for name in (*filters, *_NUMBERS)
        if name in call.query
    )


def _cidr(asked: dict[str, Any]) -> str:
    """Return the CIDR of a new subnet.

    :raises roost.exception.Invalid: when it is invalid, or the body has unsupported values
    """
    cidr = check_cidr(asked["cidr"])
    network = LocalNetwork(name="", cidr=cidr)
    version = asked.get("ip_version", network.subnet.version)
    if version != network.subnet.version:
        raise exception.Invalid(f"{cidr} is not a range of IP version {version}.")
    if asked.get("gateway_ip") not in (None, network.gateway):
        raise exception.Invalid(f"The gateway of {cidr} is its first address, {network.gateway}.")
    return cidr
