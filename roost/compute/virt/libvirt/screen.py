"""Screens of guests, with keyboard and mouse, as VNC shows them.

They listen nowhere. Who wants to look is handed a connection by libvirtd, which gives one end of it
to that guest's QEMU: so no port leads to a guest, least of all to another's when its own has ended.
"""

import socket
import xml.etree.ElementTree as ET
from typing import Any, Final

import libvirt

from roost import exception
from roost.compute.virt.libvirt.devices import Video
from roost.compute.virt.libvirt.elements import element, parse

CARD: Final = Video("vga")  # of guests whose image asks for no other
_FIRST: Final = 0  # a guest has one screen


def graphics() -> ET.Element:
    """Return what shows what the graphics card has drawn."""
    return element("graphics", element("listen", type="none"), type="vnc")


def connect(domain: Any) -> socket.socket:
    """Return a connection that speaks VNC's protocol, until the guest ends.

    :raises roost.exception.Conflict: when the guest does not run
    :raises roost.exception.Unsupported: when it was made without a screen
    """
    if not domain.isActive():
        raise exception.Conflict(f"The guest {domain.UUIDString()} does not run.")
    if parse(domain.XMLDesc()).find("devices/graphics[@type='vnc']") is None:
        raise exception.Unsupported(f"The guest {domain.UUIDString()} was made without a screen.")
    flags = libvirt.VIR_DOMAIN_OPEN_GRAPHICS_SKIPAUTH
    return socket.socket(fileno=domain.openGraphicsFD(_FIRST, flags))
