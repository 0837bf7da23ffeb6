"""What guests have left on the hosts of a rig: nothing, once all servers are deleted."""

import json
import pathlib
import subprocess
from typing import Final

from roost.rig.hypervisors import hosts
from roost.rig.hypervisors.machine import HostNamespace
from roost.rig.hypervisors.network import MANAGEMENT, UPLINK
from roost.rig.plan import Plan

KINDS: Final = ("domains", "disks", "links", "namespaces", "leases", "filters")
_OWN_LINKS: Final = ("lo", MANAGEMENT, UPLINK)
_COME_AND_GO: Final = ("aside.", "arriving.", "before.", "offers.")  # folders of what does
_KEPT: Final = ("bases", "storage", *_COME_AND_GO)  # the first: images for the next guest


def look(plan: Plan) -> dict[str, dict[str, list[str]]]:
    """Return what there is of guests, by host and by kind."""
    return {one.name: _of(plan, one) for one in hosts.machines(plan)}


def count(found: dict[str, dict[str, list[str]]]) -> int:
    """Return how many things there are altogether."""
    return sum(len(names) for kinds in found.values() for names in kinds.values())


def _of(plan: Plan, one: HostNamespace) -> dict[str, list[str]]:
    own = plan.state / "var" / one.name / one.name
    disks = [name for name in _names(own / "instances", "*") if not name.startswith(_KEPT)]
    for folder in _COME_AND_GO:
        disks += _names(own / "instances", f"{folder}*/*")
    links = [link["ifname"] for link in json.loads(_told(one, "ip", "-json", "link", "show"))]
    namespaces = json.loads(_told(one, "ip", "-json", "netns", "list") or "[]")
    tables = json.loads(_told(one, "nft", "--json", "list", "tables", "bridge"))["nftables"]
    return {
        "domains": _domains(one),
        "disks": disks,
        "links": [link for link in links if link not in _OWN_LINKS],
        "namespaces": [namespace["name"] for namespace in namespaces],
        "leases": _names(own / "bridge/dhcp", "*.conf"),
        "filters": [table["table"]["name"] for table in tables if "table" in table],
    }


def _domains(one: HostNamespace) -> list[str]:
    import libvirt  # optional: only who asks for real guests has it

    connection = libvirt.open(one.uri)
    try:
        return [domain.name() for domain in connection.listAllDomains()]
    finally:
        connection.close()


def _names(folder: pathlib.Path, pattern: str) -> list[str]:
    return sorted(path.name for path in folder.glob(pattern))


def _told(one: HostNamespace, *words: str) -> str:
    done = subprocess.run(one.inside(words), capture_output=True, text=True, check=True)
    return done.stdout
