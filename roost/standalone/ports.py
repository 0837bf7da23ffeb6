"""Ports: those of servers, in the cells, and those that users created, in the API database."""

import dataclasses
import ipaddress
import itertools
import secrets
import uuid
from collections.abc import Iterator
from typing import Any, Final

from roost import exception
from roost.api import pagination
from roost.api.dependencies import Dependencies
from roost.api.gather import Gatherer
from roost.api.request import Answer, Call
from roost.cells import Cell
from roost.db.api import networks, ports
from roost.db.api.networks import Network
from roost.db.api.ports import MadePort
from roost.db.cell import ports as cell_ports
from roost.db.cell.ports import PortRow
from roost.db.engine import retried
from roost.networks import LocalNetwork, cells_share, fixed_ip, may_be_given, random_mac
from roost.standalone import network_schemas
from roost.standalone import networks as standalone_networks
from roost.standalone.known_networks import LocalNetworks, require_choice, usable
from roost.standalone.networks import changes_of, owner

_COLUMNS: Final = {
    "id": "id",
    "network_id": "network_id",
    "device_id": "instance_uuid",
    "mac_address": "mac",
}
_AFTERWARDS: Final = ("name", "status", "project_id", "tenant_id", "device_owner", "description")
_DRAWS: Final = 8  # addresses drawn at random, before free ones are tried in order
_TRIES: Final = 64  # addresses tried for one port; others can take so many at the same time


class Ports:
    """Handlers of ``/network/v2.0/ports``.

    A list leaves out the ports in unavailable cells.
    """

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._networks = LocalNetworks.of(dependencies)
        self._gatherer = Gatherer(dependencies.executor, timeout=dependencies.options.cell_timeout)

    def list_all(self, call: Call) -> Answer:
        most = self._dependencies.options.max_limit
        limit = pagination.limit(call, most=most)
        found = self._find(call, _wanted(call), call.query.one("marker") or "", limit)
        shown = [network_schemas.port(one) for one in found]
        links = pagination.links(
            call, "ports", full=len(found) == limit, last=found[-1].id if found else ""
        )
        return Answer({"ports": [one for one in shown if _passes(call, one)], **links})

    def show(self, call: Call) -> Answer:
        return Answer({"port": network_schemas.port(self._one(call))})

    def create(self, call: Call) -> Answer:
        asked = call.body["port"]
        network = self._network(call, asked["network_id"])
        draft = self._draft(call, asked, network)
        _check_choices(call, draft, network)
        made = self._made_of(draft, network)
        return Answer({"port": network_schemas.port(_made(made))})

    def update(self, call: Call) -> Answer:
        port, changes = self._one(call), changes_of(call.body["port"])
        call.require_for(port.project_id)
        self._change(port, changes)
        return Answer({"port": network_schemas.port(dataclasses.replace(port, **changes))})

    def delete(self, call: Call) -> Answer:
        port = self._one(call)
        call.require_for(port.project_id)
        made = self._dependencies.api_database.query(ports.find, port.id)
        if made is None:
            raise exception.Conflict(
                f"Port {port.id} is of server {port.instance_uuid}, and is deleted with it."
            )
        self._networks.free_port(made)
        self._dependencies.api_database.write(ports.delete, port.id)
        return Answer()

    def tags(self, call: Call) -> list[str]:
        """Return the tags of a port; ports created with servers have none."""
        return list(self._one(call).tags)

    def tagged(self, call: Call) -> str:
        """Return the id of the port whose tags the caller may change.

        :raises roost.exception.Conflict: when it was created with its server
        """
        port = self._one(call)
        call.require_for(port.project_id)
        self._change(port, {})
        return port.id

    def _one(self, call: Call) -> network_schemas.ShownPort:
        """Return the port that the path names.

        :raises roost.exception.NotFound: when there is none that the caller may see
        """
        port_id = call.params["port_id"]
        for port in self._find(call, {"id": [port_id]}, "", 1):
            return port
        raise exception.NotFound(f"Port {port_id} could not be found.")

    def _find(
        self, call: Call, wanted: dict[str, list[str]], after: str, limit: int
    ) -> list[network_schemas.ShownPort]:
        """Return ports in order of their ids; a user's port is in a cell, too, once used."""
        asked: dict[str, Any] = {"project_id": call.visible_project, "wanted": wanted}
        asked |= {"after": after, "limit": limit}
        made = {
            port.id: _made(port)
            for port in self._dependencies.api_database.query(ports.list_ports, **asked)
        }

        def in_cell(cell: Cell) -> list[PortRow]:
            return cell.database.query(cell_ports.list_live, **asked)

        gathered = self._gatherer.from_each(self._dependencies.cells.all(), in_cell)
        for row in itertools.chain(*(rows for _, rows in gathered.answers)):
            made[row.id] = _plugged(row, made.get(row.id), show_host=call.visible_project is None)
        return [made[port_id] for port_id in sorted(made)][:limit]

    def _network(self, call: Call, network_id: str) -> LocalNetwork:
        found = self._networks.find(call, network_id)
        return usable(found) if isinstance(found, Network) else found

    def _draft(self, call: Call, asked: dict[str, Any], network: LocalNetwork) -> MadePort:
        """Return the requested port; an address that its user did not choose is ""."""
        mac = asked.get("mac_address")
        return MadePort(
            id=str(uuid.uuid4()),
            project_id=owner(call, asked),
            network_id=network.id,
            name=asked.get("name", ""),
            description=asked.get("description", ""),
            ip=_address(asked, network),
            mac=mac.lower() if mac else "",
            instance_uuid=None,
            created_at=self._dependencies.now(),
            admin_state_up=asked.get("admin_state_up", True),
        )

    def _made_of(self, draft: MadePort, network: LocalNetwork) -> MadePort:
        """Create a port, with addresses where the draft has none, and return it.

        :raises roost.exception.AddressInUse: when another port has an address that was chosen
        :raises roost.exception.NoCapacity: when the network has no address left
        """
        if draft.mac and self._is_in_a_cell(mac=[draft.mac]):
            raise _in_use(draft.mac)
        for address in itertools.islice(self._free(network, draft), _TRIES):
            made = dataclasses.replace(draft, ip=address, mac=draft.mac or random_mac())
            if self._create(made, network):
                return made
            if draft.mac and self._dependencies.api_database.query(ports.has_mac, draft.mac):
                raise _in_use(draft.mac)
        if draft.ip:
            raise exception.AddressInUse(f"IP address {draft.ip} already allocated.")
        raise exception.NoCapacity(f"No more IP addresses available on network {network.id}.")

    def _free(self, network: LocalNetwork, draft: MadePort) -> Iterator[str]:
        """Yield addresses to try: the requested one, or a few at random, then every free one."""
        if draft.ip:
            if not self._is_in_a_cell(network_id=[network.id], ip=[draft.ip]):
                yield draft.ip
            return
        ours = cells_share(network)
        rest = network.subnet.num_addresses - ours
        for _ in range(_DRAWS):
            address = network.subnet[ours + secrets.randbelow(rest)]
            if may_be_given(network, address):
                yield str(address)
        taken = self._dependencies.api_database.query(ports.addresses, network.id)
        for number in range(network.subnet.num_addresses - 1, 1, -1):
            address = network.subnet[number]
            if str(address) not in taken and may_be_given(network, address):
                yield str(address)

    def _is_in_a_cell(self, **wanted: list[str]) -> bool:
        """Return whether a server has a port with these values, in the available cells."""

        def in_cell(cell: Cell) -> list[PortRow]:
            return cell.database.query(
                cell_ports.list_live, project_id=None, wanted=wanted, limit=1
            )

        gathered = self._gatherer.from_each(self._dependencies.cells.all(), in_cell)
        return any(rows for _, rows in gathered.answers)

    @retried
    def _create(self, port: MadePort, network: LocalNetwork) -> bool:
        with self._dependencies.api_database.begin() as session:
            if network.given_id is not None:  # configured networks need no lock
                networks.hold(session, network.id)
            return ports.create(session, port)

    @retried
    def _change(self, port: network_schemas.ShownPort, changes: dict[str, Any]) -> None:
        with self._dependencies.api_database.begin() as session:
            if not ports.change(session, port.id, changes):
                raise exception.Conflict(
                    f"Port {port.id} was created with its server: it cannot be changed."
                )


def _check_choices(call: Call, draft: MadePort, network: LocalNetwork) -> None:
    """Raise :class:`roost.exception.Forbidden` for addresses that the caller may not choose."""
    if draft.mac:
        require_choice(call, network_schemas.CHOOSE_MAC_POLICY, network)
    if draft.ip:
        require_choice(call, network_schemas.CHOOSE_ADDRESS_POLICY, network)


def _in_use(mac: str) -> exception.AddressInUse:
    return exception.AddressInUse(f"MAC address {mac} is in use: choose another, or none.")


def _wanted(call: Call) -> dict[str, list[str]]:
    wanted = {
        column: call.query.all(name) for name, column in _COLUMNS.items() if name in call.query
    }
    addresses = [
        value.removeprefix("ip_address=")
        for value in call.query.all("fixed_ips")
        if value.startswith("ip_address=")
    ]
    return wanted | ({"ip": addresses} if addresses else {})


def _passes(call: Call, shown: dict[str, Any]) -> bool:
    return standalone_networks.passes(call, shown["tags"]) and all(
        shown[name] in call.query.all(name) for name in _AFTERWARDS if name in call.query
    )


def _address(asked: dict[str, Any], network: LocalNetwork) -> str:
    """Return the requested address, "" for none."""
    chosen = [one["ip_address"] for one in asked.get("fixed_ips", []) if "ip_address" in one]
    return fixed_ip(str(ipaddress.ip_address(chosen[0])), network) if chosen else ""


def _made(port: MadePort) -> network_schemas.ShownPort:
    values = dataclasses.asdict(port)
    del values["created_at"]
    return network_schemas.ShownPort(**values)


def _plugged(
    row: PortRow, made: network_schemas.ShownPort | None, *, show_host: bool
) -> network_schemas.ShownPort:
    values = dataclasses.asdict(row) | {"is_plugged": row.host is not None}
    if not show_host:
        values["host"] = None
    return (
        dataclasses.replace(made, **values | _kept(made))
        if made
        else network_schemas.ShownPort(**values)
    )


def _kept(made: network_schemas.ShownPort) -> dict[str, Any]:
    return {"project_id": made.project_id}
