"""What the daemons of a rig are told where guests are real, or have consoles."""

import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost import networks
from roost.rig.hypervisors.network import UPLINK

Options = Mapping[str, Mapping[str, Any]]
DEFAULT_NETWORKS: Final = ("private=10.0.0.0/16",)  # as [network] local_networks has it
OF_ALL: Final[Options] = {"network": {"driver": "bridge"}}
_NOVNC: Final = pathlib.Path("/usr/share/novnc")


def of_host(
    address: str, *, said: Options, metadata_url: str | None, secret: str
) -> dict[str, dict[str, Any]]:
    """Return the options of a host's ``roost-compute``.

    :param address: of the host, where ``roost-consoleproxy`` finds its consoles
    :param said: what all daemons are told, the networks among it: the first goes on beyond the host
    :param metadata_url: where guests are told of themselves, by who signs with ``secret``
    """
    uplink = _first(said.get("network", {}).get("local_networks", DEFAULT_NETWORKS))
    own: dict[str, dict[str, Any]] = {
        "compute": {"virt_driver": "libvirt"},
        "bridge": {"uplinks": f"{uplink}={UPLINK}"},
        "consoles": {"host_listen": address},
        "libvirt": {
            "live_migration_inbound_addr": address,
            "live_migration_uri": f"qemu+tcp://{address}/system",  # they trust each other
            "migration_tls_dir": "",
        },
    }
    if metadata_url:
        own["bridge"]["metadata_url"] = metadata_url
        own["metadata"] = {"shared_secret": secret}
    return own


def _first(said: str | Sequence[str]) -> str:
    entries = said.split(",") if isinstance(said, str) else said
    return networks.parse([entry.strip() for entry in entries])[0].name


def of_consoles(endpoint: str) -> dict[str, Any]:
    """Return where ``roost-api`` sends those who want a console."""
    return {
        "novnc_base_url": f"http://{endpoint}/vnc_lite.html",
        "serial_base_url": f"ws://{endpoint}/",
    }


def of_proxy(port: int | None) -> dict[str, Any]:
    """Return the options of ``roost-consoleproxy``; it has noVNC's pages if they are there."""
    own: dict[str, Any] = {"listen": "127.0.0.1", "port": port}
    return {**own, "web": str(_NOVNC)} if _NOVNC.is_dir() else own
