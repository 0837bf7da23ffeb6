"""The metadata element by which collectors of meters know the server of a libvirt domain.

Its namespace and format are those that OpenStack Compute writes, which Ceilometer and exporters
read. It says what was so when the guest was defined: at its build, rebuild or resize; the ports
follow interfaces that are attached and detached.
"""

import dataclasses
import ipaddress
import xml.etree.ElementTree as ET
from collections.abc import Iterable
from typing import Any, Final

import libvirt

from roost import __version__
from roost.compute.virt.libvirt.elements import element, parse
from roost.objects import Flavor, GuestConfig, Instance, Vif

NAMESPACE: Final = "http://openstack.org/xmlns/libvirt/nova/1.1"
PREFIX: Final = "nova"


@dataclasses.dataclass(frozen=True)
class InstanceElement:
    """What a domain says of its server."""

    instance: Instance
    vifs: tuple[Vif, ...] = ()

    def element(self) -> ET.Element:
        made = self._plain()
        for one in made.iter():
            one.tag = f"{{{NAMESPACE}}}{one.tag}"
        return made

    def _plain(self) -> ET.Element:
        server, image = self.instance, self.instance.image
        return element(
            "instance",
            element("package", version=__version__),
            element("name", text=one_line(server.display_name)),
            element("creationTime", text=f"{server.created_at:%Y-%m-%d %H:%M:%S}"),
            _flavor(server.flavor),
            self._owner(),
            None if image is None else element("root", type="image", uuid=image.id),
            element("ports", *map(_port, self.vifs)),
        )

    def _owner(self) -> ET.Element:
        given = self.instance.provisions or GuestConfig.of()
        user, project = self.instance.user_id, self.instance.project_id
        return element(
            "owner",
            element("user", text=one_line(given.user_name or user), uuid=user),
            element("project", text=one_line(given.project_name or project), uuid=project),
        )


def _flavor(flavor: Flavor) -> ET.Element:
    specs = [
        element("extraSpec", text=one_line(value), name=name)
        for name, value in flavor.extra_specs.items()
    ]
    return element(
        "flavor",
        element("memory", text=flavor.memory_mb),
        element("disk", text=flavor.root_gb),
        element("swap", text=flavor.swap),
        element("ephemeral", text=flavor.ephemeral_gb),
        element("vcpus", text=flavor.vcpus),
        element("extraSpecs", *specs),
        name=flavor.name,
        id=flavor.flavorid,
    )


def _port(vif: Vif) -> ET.Element:
    ips = [
        element("ip", type="fixed", address=ip, ipVersion=ipaddress.ip_address(ip).version)
        for ip, is_floating in vif.all_ips()
        if not is_floating
    ]
    return element("port", *ips, uuid=vif.id)


def one_line(text: str) -> str:
    """Return a text without line breaks or characters that XML cannot contain."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def note_port(domain: Any, port_id: str, vif: Vif | None) -> None:
    """Change a port in the metadata of a guest, and of its definition; None: remove it.

    Guests of an earlier release have no such metadata, and get none.
    """
    for flag in (libvirt.VIR_DOMAIN_AFFECT_CONFIG, libvirt.VIR_DOMAIN_AFFECT_LIVE):
        if flag == libvirt.VIR_DOMAIN_AFFECT_LIVE and not domain.isActive():
            continue
        found = _read(domain, flag)
        ports = None if found is None else found.find("ports")
        if found is None or ports is None:
            continue
        _replace(ports, port_id, [] if vif is None else [_port(vif)])
        text = ET.tostring(found, encoding="unicode")
        domain.setMetadata(libvirt.VIR_DOMAIN_METADATA_ELEMENT, text, PREFIX, NAMESPACE, flag)


def _replace(ports: ET.Element, port_id: str, new: Iterable[ET.Element]) -> None:
    for old in ports.findall(f"port[@uuid='{port_id}']"):
        ports.remove(old)
    ports.extend(new)


def _read(domain: Any, flag: int) -> ET.Element | None:
    """Return the element without its namespace, which libvirt adds again."""
    try:
        found = parse(domain.metadata(libvirt.VIR_DOMAIN_METADATA_ELEMENT, NAMESPACE, flag))
    except libvirt.libvirtError as error:
        if error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN_METADATA:
            return None
        raise
    for one in found.iter():
        one.tag = one.tag.rpartition("}")[2]
    return found
