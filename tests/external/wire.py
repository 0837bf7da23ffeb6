"""Pretended guests on real bridges: a network namespace each, plugged by a link as QEMU's tap is.

What they send is made here, byte by byte, so that they may also send what they must not.
"""

import contextlib
import http.client
import ipaddress
import pathlib
import secrets
import socket
import struct
import subprocess
import time
from typing import Self

from roost.compute.network.bindings import tap_of
from roost.compute.network.bridge.metadata import inside

BROADCAST = "ff:ff:ff:ff:ff:ff"
_ARP, _IPV4 = 0x0806, 0x0800
_ALL = 3  # protocols
_UDP, _REPLY = 17, b"\x02"
_DISCOVER, _REQUEST = 1, 3
_FORWARDS = "3"
_COOKIE = bytes.fromhex("63825363")
_SECONDS = 10.0


def ip(*words):
    """Run a command of iproute2, which must work."""
    subprocess.run(["/usr/sbin/ip", *words], check=True, capture_output=True, timeout=30)


def wait_until_it_forwards(link):
    """Return when a bridge hands on what comes by a link: a moment after its other end is up."""
    state = pathlib.Path(f"/sys/class/net/{link}/brport/state")
    deadline = time.monotonic() + _SECONDS
    while state.read_text().strip() != _FORWARDS:
        assert time.monotonic() < deadline, f"{link} hands on nothing"
        time.sleep(0.005)


class Wire:
    """One guest, by what it is plugged as; it has no address until it asks for one."""

    def __init__(self, vif, bridge) -> None:
        self.mac, self.tap = vif.mac, tap_of(vif.id)
        self.namespace = f"guest-{secrets.token_hex(4)}"
        self._bridge = bridge

    def __enter__(self) -> Self:
        ip("netns", "add", self.namespace)
        try:
            self._plug()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _plug(self):
        inner = ("peer", "name", "eth0", "address", self.mac, "netns", self.namespace)
        ip("link", "add", "name", self.tap, "type", "veth", *inner)
        ip("link", "set", "dev", self.tap, "master", self._bridge, "up")
        ip("-n", self.namespace, "link", "set", "dev", "lo", "up")
        ip("-n", self.namespace, "link", "set", "dev", "eth0", "up")
        wait_until_it_forwards(self.tap)

    def __exit__(self, *_failure):
        ip("netns", "delete", self.namespace)  # and the link with it

    def use(self, lease):
        """Take an address and its routes."""
        here = ("-n", self.namespace)
        ip(*here, "address", "replace", lease.address, "dev", "eth0")
        for destination, _ in lease.routes:
            if destination != "0.0.0.0/0":
                ip(*here, "route", "replace", destination, "dev", "eth0")

    def get(self, path, *, host="169.254.169.254", method="GET", headers=None, body=None):
        """Ask by HTTP; return status and body."""
        with inside(self.namespace):
            plain = socket.create_connection((host, 80), timeout=_SECONDS)
        asking = http.client.HTTPConnection(host, 80)
        asking.sock = plain
        with contextlib.closing(asking):
            asking.request(method, path, headers=headers or {}, body=body)
            answer = asking.getresponse()
            return answer.status, answer.read()

    @contextlib.contextmanager
    def frames(self, protocol=_ALL):
        """Yield a socket of whole frames."""
        with inside(self.namespace):
            raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(protocol))
        with raw:
            raw.bind(("eth0", protocol))
            raw.settimeout(_SECONDS)
            yield raw

    def ask_for_an_address(self, *, seconds=_SECONDS):
        """Return what DHCP says; None: nobody has said anything in time."""
        with self.frames(_IPV4) as raw:
            raw.settimeout(seconds)
            offer = _ask(raw, self.mac, _DISCOVER)
            return offer and _ask(raw, self.mac, _REQUEST, b"\x32\x04" + offer.packed)


class Lease:
    """What DHCP has said: options by number."""

    def __init__(self, message) -> None:
        self.packed = message[16:20]
        self.ip = str(ipaddress.ip_address(self.packed))
        self.options = _options(message[240:])

    @property
    def address(self):
        return str(ipaddress.ip_interface(f"{self.ip}/{ipaddress.ip_address(self.options[1])}"))

    @property
    def routes(self):
        """Option 121, RFC 3442: destination and next hop each."""
        left, found = self.options.get(121, b""), []
        while left:
            length, size = left[0], (left[0] + 7) // 8
            start = ipaddress.ip_address(left[1 : 1 + size].ljust(4, b"\0"))
            via = ipaddress.ip_address(left[1 + size : 5 + size])
            found.append((f"{start}/{length}", str(via)))
            left = left[5 + size :]
        return found


def _options(data):
    found, at = {}, 0
    while at < len(data) and data[at] != 255:
        if data[at] == 0:
            at += 1
            continue
        length = data[at + 1]
        found[data[at]] = data[at + 2 : at + 2 + length]
        at += 2 + length
    return found


def _ask(raw, mac, kind, options=b""):
    """Return the answer to a question of DHCP, whatever else is said; None: there is none."""
    xid = secrets.token_bytes(4)
    raw.send(dhcp(mac, kind, xid, options))
    with contextlib.suppress(TimeoutError):
        while True:
            frame = raw.recv(2048)
            message = frame[42:]
            if frame[23] == _UDP and message[:1] == _REPLY and message[4:8] == xid:
                return Lease(message)
    return None


def mac_bytes(text):
    return bytes.fromhex(text.replace(":", ""))


def ethernet(source, destination, protocol, payload):
    head = mac_bytes(destination) + mac_bytes(source) + struct.pack("!H", protocol)
    return (head + payload).ljust(60, b"\0")


def arp(mac, sender, target, *, source=None):
    """Ask who has an address, in the name of another."""
    body = struct.pack("!HHBBH", 1, _IPV4, 6, 4, 1) + mac_bytes(mac)
    body += ipaddress.ip_address(sender).packed + bytes(6) + ipaddress.ip_address(target).packed
    return ethernet(source or mac, BROADCAST, _ARP, body)


def udp(mac, sender, target, *, ports=(1000, 1000), payload=b"", to=BROADCAST):
    payload = payload.ljust(18, b"\0")  # frames have no padding that somebody might take off
    size = 8 + len(payload)
    body = struct.pack("!HHHH", *ports, size, 0) + payload
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + size, 0, 0, 64, 17, 0)
    head += ipaddress.ip_address(sender).packed + ipaddress.ip_address(target).packed
    head = head[:10] + struct.pack("!H", _checksum(head)) + head[12:]
    return ethernet(mac, to, _IPV4, head + body)


def dhcp(mac, kind, xid, options=b""):
    """Return a question of DHCP whose answer is to be broadcast."""
    message = struct.pack("!BBBB4sHH", 1, 1, 6, 0, xid, 0, 0x8000) + bytes(16)
    message += mac_bytes(mac).ljust(16, b"\0") + bytes(192) + _COOKIE
    wanted = bytes([1, 3, 6, 12, 15, 26, 121])
    message += bytes([53, 1, kind]) + options + bytes([55, len(wanted)]) + wanted + b"\xff"
    return udp(mac, "0.0.0.0", "255.255.255.255", ports=(68, 67), payload=message)


def _checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF
