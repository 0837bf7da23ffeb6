"""OpenStack metadata documents: ``openstack/VERSION/NAME``.

A version is the date on which data was added; later versions have it, too. ``latest`` is the
newest. The table of ``doc/metadata.rst`` lists the additions. ``network_data.json`` describes the
interfaces of a guest, which sets them up before it has a network.
"""

import base64
import ipaddress
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from roost.guestdata import vendor_data
from roost.guestdata.about import About, Tree, below
from roost.objects import Vif, VifAddress

Subnet = ipaddress.IPv4Network | ipaddress.IPv6Network
_VLAN: Final = "vlan"
_TRUSTED: Final = "trusted"
_DIRECT: Final = "direct"  # the guest has a function of the NIC, and sees its VLAN


def of(vifs: Sequence[Vif]) -> dict[str, Any]:
    """Return links, networks and services, in the order of the interfaces."""
    found = [(vif, address) for vif in vifs for address in _addresses(vif)]
    networks = [_network(vif, address, number) for number, (vif, address) in enumerate(found)]
    servers = dict.fromkeys(each for _, address in found for each in address.dns)
    return {"links": [_link(vif) for vif in vifs], "networks": networks, "services": _dns(servers)}


def vlan(vif: Vif) -> int | None:
    """Return the VLAN that the guest sees on its interface; None: it sees none."""
    tag = vif.details.get(_VLAN) if vif.vnic_type.startswith(_DIRECT) else None
    return int(json.loads(tag)) if tag else None


def is_trusted(vif: Vif) -> bool:
    """Return whether the port is trusted: the guest may change the MAC of its interface."""
    return str(json.loads(vif.profile.get(_TRUSTED, "false"))).lower() == "true"


def _addresses(vif: Vif) -> list[VifAddress]:
    """Return all addresses; a vif from before ``addresses`` existed has one in its own fields."""
    if vif.addresses or not vif.ip:
        return list(vif.addresses)
    only = VifAddress.of(
        ip=vif.ip, subnet_id=vif.network_id, cidr=vif.cidr, gateway=vif.gateway, dhcp=False
    )
    return [only]


def _link(vif: Vif) -> dict[str, Any]:
    return {
        "id": _link_id(vif),
        "vif_id": vif.id,
        "type": vif.type or "phy",
        "mtu": None if any(one.dhcp for one in vif.addresses) else vif.mtu,  # DHCP tells it
        "ethernet_mac_address": vif.mac,
    }


def _link_id(vif: Vif) -> str:
    return f"tap{vif.id[:11]}"


def _network(vif: Vif, address: VifAddress, number: int) -> dict[str, Any]:
    """Return the network of an address: fixed, by DHCP, or in one of the modes of IPv6.

    Only DHCP without a mode tells the guest all the rest.
    """
    subnet = ipaddress.ip_network(address.cidr, strict=False)
    by_dhcp = address.dhcp and not address.ipv6_mode
    how = address.ipv6_mode or ("dhcp" if by_dhcp else None)
    network = {
        "id": f"network{number}",
        "type": f"ipv{subnet.version}_{how}" if how else f"ipv{subnet.version}",
        "link": _link_id(vif),
        "network_id": vif.network_id,
    }
    return network if by_dhcp else network | _settings(address, subnet)


def _settings(address: VifAddress, subnet: Subnet) -> dict[str, Any]:
    return {
        "ip_address": address.ip,
        "netmask": str(subnet.netmask),
        "routes": list(_routes(address, subnet)),
        "services": _dns(address.dns),
    }


def _routes(address: VifAddress, subnet: Subnet) -> Iterator[dict[str, str]]:
    if address.gateway:
        anywhere = "::" if isinstance(subnet, ipaddress.IPv6Network) else "0.0.0.0"  # noqa: S104
        yield {"network": anywhere, "netmask": anywhere, "gateway": address.gateway}
    for route in address.routes:
        to = ipaddress.ip_network(str(route["destination"]), strict=False)
        yield {
            "network": str(to.network_address),
            "netmask": str(to.netmask),
            "gateway": str(route["nexthop"]),
        }


def _dns(servers: Sequence[str] | dict[str, None]) -> list[dict[str, str]]:
    return [{"type": "dns", "address": server} for server in servers]


_FIRST: Final = "2012-08-10"
PASSWORDS: Final = "2013-04-04"  # and seeds
_VENDORS: Final = "2013-10-17"
_NETWORKS: Final = "2015-10-15"  # and projects
_DEVICES: Final = "2016-06-30"
_NAMED_VENDORS: Final = "2016-10-06"
_VLANS: Final = "2017-02-22"
_TRUST: Final = "2018-08-27"
_DEDICATED: Final = "2020-10-14"
LATEST: Final = "latest"
FOLDER: Final = "openstack"
DATED: Final = (
    _FIRST,
    PASSWORDS,
    _VENDORS,
    _NETWORKS,
    _DEVICES,
    _NAMED_VENDORS,
    _VLANS,
    _TRUST,
    _DEDICATED,
)
VERSIONS: Final = (*DATED, LATEST)
META_DATA: Final = "meta_data.json"
USER_DATA: Final = "user_data"
NAMED_VENDOR_DATA: Final = "vendor_data2.json"
PASSWORD: Final = "password"  # noqa: S105 - the name of a document
CONTENT: Final = "content"


def tree(about: About, *, versions: Iterable[str] = VERSIONS) -> Tree:
    """Return all documents of all versions, as a config drive has them."""
    files: Tree = {}
    for version in versions:
        files |= below(version, _documents(about, version))
    for number, file in enumerate(about.files):
        files[f"{CONTENT}/{number:04}"] = file.contents
    return below(FOLDER, files)


def _documents(about: About, version: str) -> Tree:
    files = {META_DATA: _json(meta_data(about, version))}
    if about.user_data is not None:
        files[USER_DATA] = about.user_data
    for since, name, make in _LATER:
        if since <= version:
            files[name] = make(about)
    return files


def meta_data(about: About, version: str = LATEST) -> dict[str, Any]:
    """Return a version's metadata of the instance. Versions compare as texts: latest is last."""
    instance = about.instance
    document: dict[str, Any] = {
        "uuid": instance.uuid,
        "name": instance.display_name,
        "hostname": about.hostname,
        "launch_index": instance.launch_index,
        "availability_zone": instance.availability_zone,
        **_if_any("meta", dict(instance.metadata)),
        **_keys(about),
        **_if_any("files", _files(about)),
        **_if_any("admin_pass", about.admin_password),
    }
    for since, name, make in _FACTS:
        if since <= version:
            document[name] = make(about, version)
    return document


def _if_any(name: str, value: Any) -> dict[str, Any]:
    return {name: value} if value else {}


def _keys(about: About) -> dict[str, Any]:
    pair = about.instance.keypair
    if pair is None:
        return {}
    key = {"name": pair.name, "type": pair.type, "data": pair.public_key}
    return {"public_keys": {pair.name: pair.public_key}, "keys": [key]}


def _files(about: About) -> list[dict[str, str]]:
    return [
        {"content_path": f"/{CONTENT}/{number:04}", "path": file.path}
        for number, file in enumerate(about.files)
    ]


def _seed(about: About, _version: str) -> str:
    return base64.b64encode(about.seed).decode()


def _project(about: About, _version: str) -> str:
    return str(about.instance.project_id)


def _dedicated_cpus(about: About, _version: str) -> list[int]:
    """Return which of the guest's CPUs are dedicated."""
    topology = about.instance.numa_topology
    return sorted(cpu for cell in topology.cells for cpu in cell.pcpus) if topology else []


def _devices(about: About, version: str) -> list[dict[str, Any]]:
    """Return the tagged devices; their bus addresses are not known outside the guest."""
    nics = [_nic(vif, version) for vif in about.vifs if vif.tag]
    return nics + [_device("disk", tag) for tag in about.disk_tags]


def _nic(vif: Vif, version: str) -> dict[str, Any]:
    nic = {**_device("nic", str(vif.tag)), "mac": vif.mac}
    if version >= _VLANS:
        nic |= _if_any("vlan", vlan(vif))
    if version >= _TRUST:
        nic["vf_trusted"] = is_trusted(vif)
    return nic


def _device(kind: str, tag: str) -> dict[str, Any]:
    return {"type": kind, "bus": "none", "address": "none", "tags": [tag]}


def _network_data(about: About) -> bytes:
    return _json(of(about.vifs))


def _json(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True).encode()


_Fact = tuple[str, str, Callable[[About, str], Any]]
_FACTS: Final[tuple[_Fact, ...]] = (
    (PASSWORDS, "random_seed", _seed),
    (_NETWORKS, "project_id", _project),
    (_DEVICES, "devices", _devices),
    (_DEDICATED, "dedicated_cpus", _dedicated_cpus),
)
_LATER: Final[tuple[tuple[str, str, Callable[[About], bytes]], ...]] = (
    (PASSWORDS, PASSWORD, lambda about: about.password.encode()),
    (_VENDORS, "vendor_data.json", lambda about: _json(vendor_data.static(about))),
    (_NETWORKS, "network_data.json", _network_data),
    (_NAMED_VENDORS, NAMED_VENDOR_DATA, lambda about: _json(vendor_data.named(about))),
)
