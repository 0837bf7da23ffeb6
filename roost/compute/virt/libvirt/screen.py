"""Screens of guests, with keyboard and mouse, as VNC and SPICE show them.

They listen nowhere. Who wants to look is handed a connection by libvirtd, which gives one end of it
to that guest's QEMU: so no port leads to a guest, least of all to another's when its own has ended.
SPICE opens several at once, one for each thing that it shows or hears.
"""

import socket
import xml.etree.ElementTree as ET
from typing import Any, Final

import libvirt

from roost import exception
from roost.compute.virt.libvirt.devices import Video
from roost.compute.virt.libvirt.elements import element, parse
from roost.objects import consoles

CARD: Final = Video("vga")  # of guests whose image asks for no other
KINDS: Final = (consoles.VNC, consoles.SPICE)  # as libvirt calls them, too


def graphics(kind: str) -> ET.Element:
    """Return what shows what the graphics card has drawn."""
    return element("graphics", element("listen", type="none"), type=kind)


def kinds(described: ET.Element) -> list[str]:
    """Return by which of :data:`KINDS` a guest is seen, in the order of libvirt's numbers."""
    return [graphics.attrib["type"] for graphics in described.iterfind("devices/graphics")]


def connect(domain: Any, kind: str) -> socket.socket:
    """Return a connection that speaks that protocol, until the guest ends.

    :raises roost.exception.Conflict: when the guest does not run
    :raises roost.exception.Unsupported: when it was made without such a screen
    """
    if not domain.isActive():
        raise exception.Conflict(f"The guest {domain.UUIDString()} does not run.")
    found = kinds(parse(domain.XMLDesc()))
    if kind not in found:
        raise exception.Unsupported(
            f"The guest {domain.UUIDString()} was made without a screen that {kind} shows."
        )
    flags = libvirt.VIR_DOMAIN_OPEN_GRAPHICS_SKIPAUTH
    return socket.socket(fileno=domain.openGraphicsFD(found.index(kind), flags))
