"""Graphical consoles of guests: VNC and SPICE.

They listen on no port. libvirtd passes one end of a socket pair to the guest's QEMU for each
client: so no port leads to a guest, or to another guest after the first has ended. SPICE clients
open several connections, one for each channel.
"""

import socket
import xml.etree.ElementTree as ET
from typing import Any, Final

import libvirt

from roost import exception
from roost.compute.virt.libvirt.devices import Video
from roost.compute.virt.libvirt.elements import element, parse
from roost.objects import consoles

CARD: Final = Video("vga")  # of guests whose image requests no other
KINDS: Final = (consoles.VNC, consoles.SPICE)  # libvirt's names, too


def graphics(kind: str) -> ET.Element:
    """Return the ``graphics`` element of a console."""
    return element("graphics", element("listen", type="none"), type=kind)


def kinds(described: ET.Element) -> list[str]:
    """Return which of :data:`KINDS` a guest has, in libvirt's order."""
    return [graphics.attrib["type"] for graphics in described.iterfind("devices/graphics")]


def connect(domain: Any, kind: str) -> socket.socket:
    """Return a connection to a console, which closes when the guest stops.

    :raises roost.exception.Conflict: when the guest does not run
    :raises roost.exception.Unsupported: when it has no such console
    """
    if not domain.isActive():
        raise exception.Conflict(f"The guest {domain.UUIDString()} does not run.")
    found = kinds(parse(domain.XMLDesc()))
    if kind not in found:
        raise exception.Unsupported(f"The guest {domain.UUIDString()} has no {kind} console.")
    flags = libvirt.VIR_DOMAIN_OPEN_GRAPHICS_SKIPAUTH
    return socket.socket(fileno=domain.openGraphicsFD(found.index(kind), flags))
