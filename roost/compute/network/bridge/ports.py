"""Records of each instance's ports, which are stored on disk before any device changes.

The driver keeps no other record of devices. So after any crash it restores all networks from these.
"""

import dataclasses
import functools
import ipaddress
import json
import pathlib
from collections.abc import Iterable
from typing import Any, Final, Self

from roost import exception
from roost.compute.network.bindings import read_whole, tap_of, write_whole
from roost.objects import Instance, Vif

_IPV4: Final = 4


@dataclasses.dataclass(frozen=True, kw_only=True)
class BridgePort:
    """An interface of a guest, with the DHCP values of its network.

    ``routes`` are pairs of destination and next hop.
    """

    id: str
    network_id: str
    mac: str
    ip: str
    cidr: str
    gateway: str | None
    dns: tuple[str, ...]
    routes: tuple[tuple[str, str], ...]
    mtu: int | None
    instance_uuid: str
    project_id: str
    hostname: str

    @classmethod
    def of(cls, instance: Instance, vif: Vif) -> Self:
        """Read a port of the local driver.

        :raises roost.exception.Invalid: when it has no address of IPv4
        """
        if not vif.ip or ipaddress.ip_address(vif.ip).version != _IPV4:
            raise exception.Invalid(
                f"Network {vif.network_name} has no IPv4 addresses, and bridges carry no others."
            )
        address = next(iter(vif.addresses), None)
        return cls(
            id=vif.id,
            network_id=vif.network_id,
            mac=vif.mac.lower(),
            ip=vif.ip,
            cidr=vif.cidr,
            gateway=vif.gateway,
            dns=tuple(address.dns) if address else (),
            routes=_routes(address.routes) if address else (),
            mtu=vif.mtu,
            instance_uuid=instance.uuid,
            project_id=instance.project_id,
            hostname=instance.hostname,
        )

    @classmethod
    def read(cls, values: dict[str, Any]) -> Self:
        """Read a port from the JSON of :func:`dataclasses.asdict`."""
        dns, routes = tuple(values["dns"]), tuple((to, via) for to, via in values["routes"])
        return cls(**{**values, "dns": dns, "routes": routes})

    @property
    def tap(self) -> str:
        """The name of the guest's tap device."""
        return tap_of(self.id)


def _routes(routes: Iterable[dict[str, str | None]]) -> tuple[tuple[str, str], ...]:
    return tuple((str(route["destination"]), str(route["nexthop"])) for route in routes)


@dataclasses.dataclass(frozen=True)
class BridgeRecord:
    """An instance's wanted ports, and the networks to which they may not be applied yet."""

    ports: tuple[BridgePort, ...] = ()
    unsettled: tuple[str, ...] = ()

    @property
    def networks(self) -> set[str]:
        return {*self.unsettled, *(port.network_id for port in self.ports)}


class BridgeRecords:
    """The ports of this host's instances, a file for each instance; one caller at a time."""

    def __init__(self, folder: pathlib.Path) -> None:
        self._folder = folder

    @functools.cached_property
    def _known(self) -> dict[str, BridgeRecord]:
        return {path.stem: _read(path) for path in sorted(self._folder.glob("*.json"))}

    def instances(self) -> list[str]:
        return sorted(self._known)

    def networks(self) -> list[str]:
        """Return the ids of all networks that have devices on this host, or may have."""
        return sorted({network for record in self._known.values() for network in record.networks})

    def networks_of(self, project_id: str) -> list[str]:
        """Return the ids of the networks in which a project has ports here."""
        ports = [port for record in self._known.values() for port in record.ports]
        return sorted({port.network_id for port in ports if port.project_id == project_id})

    def get(self, uuid: str) -> BridgeRecord:
        return self._known.get(uuid, BridgeRecord())

    def of_network(self, network_id: str) -> list[BridgePort]:
        """Return the ports in a network, in the order of their ids."""
        ports = [port for record in self._known.values() for port in record.ports]
        return sorted(
            (port for port in ports if port.network_id == network_id), key=lambda port: port.id
        )

    def write(self, uuid: str, record: BridgeRecord) -> None:
        """Store the record of an instance; an empty one is deleted."""
        path = self._folder / f"{uuid}.json"
        if record == BridgeRecord():
            path.unlink(missing_ok=True)
            self._known.pop(uuid, None)
            return
        write_whole(path, json.dumps(dataclasses.asdict(record)))
        self._known[uuid] = record


def _read(path: pathlib.Path) -> BridgeRecord:
    values = read_whole(path)
    ports = tuple(BridgePort.read(port) for port in values["ports"])
    return BridgeRecord(ports, tuple(values["unsettled"]))
