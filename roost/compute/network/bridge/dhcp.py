"""DHCP for guests: a dnsmasq per network, in the network's namespace.

It offers each guest the address that Roost has assigned to it, and others nothing. It stores no
leases: a guest that requests again gets the same answer. So dnsmasq is restarted whenever its
configuration changes, and the lease of a former guest never blocks an address.
"""

import contextlib
import pathlib
import re
from typing import Final

from roost.compute.network.bridge.ports import BridgePort
from roost.compute.network.bridge.segment import INNER, METADATA, Segment, SegmentNames
from roost.compute.network.bridge.system import System

_LEASE: Final = 86400  # seconds
_ON_LINK: Final = "0.0.0.0"  # noqa: S104 - the next hop of on-link routes, RFC 3442
_HOSTNAME: Final = re.compile(r"[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?")


class Dhcp:
    """Runs a dnsmasq for each network.

    :param folder: has the configuration files
    """

    def __init__(self, system: System, folder: pathlib.Path) -> None:
        self._system = system
        self._folder = folder

    def ensure(self, segment: Segment) -> None:
        """Start dnsmasq, or restart it if its configuration has changed."""
        names, conf, pid_file = segment.names, *self._files(segment.names)
        wanted = configuration(segment, pid_file)
        runs = self._system.runs(pid_file, argument=str(conf), within=names.namespace)
        if runs and _text(conf) == wanted:
            return
        self._system.end(pid_file, argument=str(conf))
        conf.parent.mkdir(parents=True, exist_ok=True)
        conf.write_text(wanted)
        inside = ("ip", "netns", "exec", names.namespace)
        self._system.run(*inside, "dnsmasq", f"--conf-file={conf}")

    def remove(self, names: SegmentNames) -> None:
        """Stop dnsmasq; may be repeated."""
        conf, pid_file = self._files(names)
        self._system.end(pid_file, argument=str(conf))
        conf.unlink(missing_ok=True)

    def _files(self, names: SegmentNames) -> tuple[pathlib.Path, pathlib.Path]:
        stem = self._folder / names.network_id
        return stem.with_suffix(".conf"), stem.with_suffix(".pid")


def _text(path: pathlib.Path) -> str | None:
    with contextlib.suppress(FileNotFoundError):
        return path.read_text()
    return None


def configuration(segment: Segment, pid_file: pathlib.Path) -> str:
    """Return dnsmasq's configuration."""
    subnet, gateway = segment.subnet, segment.ports[0].gateway
    lines = [
        "port=0",  # no DNS
        f"interface={INNER}",
        "bind-interfaces",
        "no-resolv",
        "no-hosts",
        "no-ping",  # Roost assigns addresses: dnsmasq's check for free ones costs seconds
        "dhcp-authoritative",
        "leasefile-ro",
        "dhcp-lease-max=65535",
        f"pid-file={pid_file}",
        f"dhcp-range={subnet.network_address},static,{subnet.netmask},{_LEASE}",
        f"shared-network={INNER},{subnet.network_address}",  # the link has no address of the subnet
        _option("router", gateway),
        _option("classless-static-route", *_routes(segment)),
        _option("mtu", str(segment.mtu)),
        _option("dns-server", *segment.dns),
        *([_option("domain-name", segment.domain)] if segment.domain else []),
        *(_host(port) for port in segment.ports),
    ]
    return "".join(f"{line}\n" for line in lines)


def _option(name: str, *values: str | None) -> str:
    """Return a line; without values the option is not sent, instead of dnsmasq's default."""
    return ",".join([f"dhcp-option=option:{name}", *filter(None, values)])


def _routes(segment: Segment) -> list[str]:
    """Return destinations and next hops; a guest with routes ignores the router option."""
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
