"""The operator's settings of the ``bridge`` network driver."""

import dataclasses
import pathlib
import re
from collections.abc import Mapping, Sequence
from typing import Final, Self

from oslo_config import cfg

from roost import exception, networks

_OPTION: Final = "[bridge] uplinks"
_LINK: Final = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9._-]{0,14}")


@dataclasses.dataclass(frozen=True)
class MetadataService:
    """The URL of roost-metadata, and the secret with which requests for guests are signed."""

    url: str
    secret: str


@dataclasses.dataclass(frozen=True)
class BridgeSettings:
    """``folder`` is where this host stores its records.

    ``uplinks`` are the host's links, by network id, that connect networks beyond the host.
    """

    folder: pathlib.Path
    uplinks: Mapping[str, str] = dataclasses.field(default_factory=dict)
    mtu: int = 1500
    dns: tuple[str, ...] = ()
    domain: str = ""
    metadata: MetadataService | None = None

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        """Read the options.

        :raises roost.exception.Invalid: naming the option and what is wrong with it
        """
        group = conf.bridge
        return cls(
            folder=pathlib.Path(conf.state_path, conf.host, "bridge"),
            uplinks=uplinks(group.uplinks, networks.parse(conf.network.local_networks)),
            mtu=group.mtu,
            dns=tuple(group.dns_servers),
            domain=conf.guest_data.dhcp_domain,
            metadata=_metadata(conf),
        )


def _metadata(conf: cfg.ConfigOpts) -> MetadataService | None:
    if not conf.bridge.metadata_url:
        return None
    if not conf.metadata.shared_secret:
        raise exception.Invalid(
            "[bridge] metadata_url needs [metadata] shared_secret, the same as roost-metadata has:"
            " requests of guests are signed with it"
        )
    return MetadataService(conf.bridge.metadata_url.rstrip("/"), conf.metadata.shared_secret)


def uplinks(entries: Sequence[str], known: Sequence[networks.LocalNetwork]) -> dict[str, str]:
    """Read pairs of network name and uplink, as in ``private=eth1``; return uplinks by network id.

    :raises roost.exception.Invalid: naming the entry and what is wrong with it
    """
    ids = {network.name: network.id for network in known}
    found: dict[str, str] = {}
    for entry in entries:
        name, _, link = (part.strip() for part in entry.partition("="))
        if _LINK.fullmatch(link) is None:
            raise _bad(entry, "it must read network=link, as in private=eth1")
        if name not in ids:
            raise _bad(entry, f"[network] local_networks has no network {name!r}")
        if ids[name] in found:
            raise _bad(entry, f"{name} has an uplink already")
        if link in found.values():
            raise _bad(entry, f"{link} is the uplink of another network already")
        found[ids[name]] = link
    return found


def _bad(entry: str, why: str) -> exception.Invalid:
    return exception.Invalid(f"{_OPTION} has a bad entry {entry!r}: {why}")
