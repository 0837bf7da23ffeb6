"""One network on one host: a bridge, and a namespace with the services for its guests.

The host itself has no address on the bridge. The namespace has 169.254.169.254, outside of any
subnet, where it serves DHCP and metadata.
"""

import dataclasses
import ipaddress
from collections.abc import Sequence
from typing import Final, Self

from roost.compute.network.bridge.ports import BridgePort
from roost.compute.network.bridge.settings import BridgeSettings
from roost.compute.network.bridge.system import System
from roost.security_groups import Filtering

METADATA: Final = "169.254.169.254"
INNER: Final = "guests"  # the end of the link in the namespace
_DIGITS: Final = 11  # of the network's id: link names have 15 characters at most


@dataclasses.dataclass(frozen=True)
class SegmentNames:
    """The names of a network's devices on a host, derived from its id."""

    network_id: str

    @property
    def bridge(self) -> str:
        return f"rbr{self.network_id[:_DIGITS]}"

    @property
    def namespace(self) -> str:
        return f"roost-{self.network_id}"

    @property
    def outer(self) -> str:
        """The end on the bridge of the link to the namespace."""
        return f"rve{self.network_id[:_DIGITS]}"

    @property
    def table(self) -> str:
        """The name of its nftables tables."""
        return "roost_" + self.network_id.replace("-", "_")


@dataclasses.dataclass(frozen=True)
class Segment:
    """The wanted state of a network on this host; it has at least one port."""

    names: SegmentNames
    ports: tuple[BridgePort, ...]
    mtu: int
    dns: tuple[str, ...] = ()
    domain: str = ""
    uplink: str | None = None
    has_metadata: bool = False
    filtering: Filtering = dataclasses.field(default_factory=Filtering)

    @classmethod
    def of(
        cls,
        network_id: str,
        ports: Sequence[BridgePort],
        settings: BridgeSettings,
        *,
        filtering: Filtering,
    ) -> Self:
        return cls(
            names=SegmentNames(network_id),
            ports=tuple(ports),
            mtu=ports[0].mtu or settings.mtu,
            dns=ports[0].dns or settings.dns,
            domain=settings.domain,
            uplink=settings.uplinks.get(network_id),
            has_metadata=settings.metadata is not None,
            filtering=filtering,
        )

    @property
    def subnet(self) -> ipaddress.IPv4Network:
        return ipaddress.IPv4Network(self.ports[0].cidr)


class Links:
    """Creates and removes the links of networks; every step may be repeated."""

    def __init__(self, system: System) -> None:
        self._system = system

    def ensure_bridge(self, segment: Segment) -> int:
        """Create the bridge without any links; return its interface index."""
        self._ensure_bridge(segment)
        return self._system.index(segment.names.bridge)

    def ensure(self, segment: Segment) -> None:
        """Create the namespace and its link to the bridge, and add the uplink to the bridge."""
        self._ensure_namespace(segment)
        if segment.uplink is not None:
            self._set(segment.uplink, "master", segment.names.bridge, "up")

    def remove(self, names: SegmentNames) -> None:
        """Remove the devices of a network; its namespace must be empty.

        Its uplink belongs to the host, and stays.
        """
        self._remove(names.outer)
        self._try("ip", "netns", "delete", names.namespace)
        self._remove(names.bridge)

    def _ensure_bridge(self, segment: Segment) -> None:
        bridge = segment.names.bridge
        if not self._has(bridge):
            self._run("ip", "link", "add", "name", bridge, "type", "bridge")
        # connection tracking on the bridge, for security groups
        self._run("ip", "link", "set", "dev", bridge, "type", "bridge", "nf_call_iptables", "1")
        self._set(bridge, "addrgenmode", "none")  # no address for the host
        self._set(bridge, "mtu", str(segment.mtu), "up")

    def _ensure_namespace(self, segment: Segment) -> None:
        names, inside = segment.names, ("ip", "-n", segment.names.namespace)
        if not self._system.succeeds(*inside, "link", "show", "dev", "lo"):
            self._try("ip", "netns", "delete", names.namespace)  # a stale name
            self._remove(names.outer)
            self._run("ip", "netns", "add", names.namespace)
        if not self._system.succeeds(*inside, "link", "show", "dev", INNER):
            self._remove(names.outer)
            peer = ("peer", "name", INNER, "netns", names.namespace)
            self._run("ip", "link", "add", "name", names.outer, "type", "veth", *peer)
        self._set(names.outer, "addrgenmode", "none")
        self._set(names.outer, "master", names.bridge, "mtu", str(segment.mtu), "up")
        self._run(*inside, "link", "set", "dev", INNER, "addrgenmode", "none")
        self._run(*inside, "link", "set", "dev", INNER, "mtu", str(segment.mtu), "up")
        self._run(*inside, "address", "replace", f"{METADATA}/32", "dev", INNER)
        route = (str(segment.subnet), "dev", INNER, "src", METADATA)
        self._run(*inside, "route", "replace", *route)

    def _remove(self, link: str) -> None:
        """Remove a link; it may disappear meanwhile, together with its namespace."""
        delete = ("ip", "link", "delete", "dev", link)
        if self._has(link) and not self._system.succeeds(*delete) and self._has(link):
            self._run(*delete)

    def _has(self, link: str) -> bool:
        return self._system.succeeds("ip", "link", "show", "dev", link)

    def _set(self, link: str, *how: str) -> None:
        self._run("ip", "link", "set", "dev", link, *how)

    def _run(self, *command: str) -> None:
        self._system.run(*command)

    def _try(self, *command: str) -> None:
        """Run a command that may fail because it was run before."""
        self._system.succeeds(*command)
