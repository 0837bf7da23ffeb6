"""Leases for guests: a dnsmasq per network, in its namespace.

It gives each guest the address that Roost has given it, and others nothing. It keeps no leases: who
asks again is told the same again. So it is started anew whenever what it is to say has changed, and
an address that goes to another guest is never held back by the lease of the one before.
"""

import contextlib
import pathlib
import re
from typing import Final

from roost.compute.network.bridge.ports import BridgePort
from roost.compute.network.bridge.segment import INNER, METADATA, Segment, SegmentNames
from roost.compute.network.bridge.system import System

_LEASE: Final = 86400  # seconds
_ON_LINK: Final = "0.0.0.0"  # noqa: S104 - the next hop of what needs none, RFC 3442
_HOSTNAME: Final = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?")


class Dhcp:
    """Has a dnsmasq run for each network, as its configuration says by now.

    :param folder: where the configurations are
    """

    def __init__(self, system: System, folder: pathlib.Path) -> None:
        self._system = system
        self._folder = folder

    def ensure(self, segment: Segment) -> None:
        """Have it say what it is to say; one that does already is left alone."""
        names, conf, pid_file = segment.names, *self._files(segment.names)
        wanted = configuration(segment, pid_file)
        runs = self._system.runs(pid_file, knows=str(conf), within=names.namespace)
        if runs and _text(conf) == wanted:
            return
        self._system.end(pid_file, knows=str(conf))
        conf.parent.mkdir(parents=True, exist_ok=True)
        conf.write_text(wanted)
        inside = ("ip", "netns", "exec", names.namespace)
        self._system.run(*inside, "dnsmasq", f"--conf-file={conf}")

    def remove(self, names: SegmentNames) -> None:
        """End it; safe to repeat."""
        conf, pid_file = self._files(names)
        self._system.end(pid_file, knows=str(conf))
        conf.unlink(missing_ok=True)

    def _files(self, names: SegmentNames) -> tuple[pathlib.Path, pathlib.Path]:
        stem = self._folder / names.network_id
        return stem.with_suffix(".conf"), stem.with_suffix(".pid")


def _text(path: pathlib.Path) -> str | None:
    with contextlib.suppress(FileNotFoundError):
        return path.read_text()
    return None


def configuration(segment: Segment, pid_file: pathlib.Path) -> str:
    """Return what dnsmasq reads."""
    subnet, gateway = segment.subnet, segment.ports[0].gateway
    lines = [
        "port=0",  # no DNS
        f"interface={INNER}",
        "bind-interfaces",
        "no-resolv",
        "no-hosts",
        "no-ping",  # addresses are Roost's to give: to look whether one is free costs seconds
        "dhcp-authoritative",
        "leasefile-ro",
        "dhcp-lease-max=65535",
        f"pid-file={pid_file}",
        f"dhcp-range={subnet.network_address},static,{subnet.netmask},{_LEASE}",
        f"shared-network={INNER},{subnet.network_address}",  # we have no address of the subnet
        _option("router", gateway),
        _option("classless-static-route", *_routes(segment)),
        _option("mtu", str(segment.mtu)),
        _option("dns-server", *segment.dns),
        *([_option("domain-name", segment.domain)] if segment.domain else []),
        *(_host(port) for port in segment.ports),
    ]
    return "".join(f"{line}\n" for line in lines)


def _option(name: str, *values: str | None) -> str:
    """Return a line; an option without values is not sent, where dnsmasq would say itself."""
    return ",".join([f"dhcp-option=option:{name}", *filter(None, values)])


def _routes(segment: Segment) -> list[str]:
    """Return destinations and next hops: who is told some takes the router from nowhere else."""
    first = segment.ports[0]
    routes = list(first.routes)
    if segment.has_metadata:
        routes.append((f"{METADATA}/32", _ON_LINK))
    if routes and first.gateway:
        routes.append(("0.0.0.0/0", first.gateway))
    return [part for route in routes for part in route]


def _host(port: BridgePort) -> str:
    named = [port.hostname] if _HOSTNAME.fullmatch(port.hostname) else []
    return ",".join([f"dhcp-host={port.mac}", port.ip, *named])
