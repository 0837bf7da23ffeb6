"""The binding of a Neutron port on its host, and the name of its tap device.

Network drivers and hypervisors read bindings. ``write_whole`` and ``read_whole`` are for the files
in which network drivers store their state.
"""

import dataclasses
import json
import os
import pathlib
from typing import Any, Final, Self

from roost import exception
from roost.objects import Vif

_LENGTH: Final = 14  # names of links have 15 characters at most


def tap_of(port_id: str) -> str:
    """Return the device name by which Neutron's agents find the port on its host."""
    return f"tap{port_id}"[:_LENGTH]


def write_whole(path: pathlib.Path, text: str) -> None:
    """Write a file atomically: after a crash it has either the new or the old text."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")
    with partial.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(path)


def read_whole(path: pathlib.Path) -> Any:
    """Return the JSON of such a file.

    :raises FileNotFoundError: when it does not exist
    :raises roost.exception.Internal: when it is damaged, naming it
    """
    try:
        return json.loads(path.read_text())
    except ValueError as error:
        raise exception.Internal(f"the file {path} is damaged: {error}") from error


BRIDGE: Final = "bridge"
OVS: Final = "ovs"
TAP: Final = "tap"
_NORMAL: Final = "normal"  # the vnic_type of ports without a device of the host


@dataclasses.dataclass(frozen=True, kw_only=True)
class Binding:
    """What a port's guest is plugged into.

    :ivar kind: Neutron's VIF type: :data:`BRIDGE`, :data:`OVS` or :data:`TAP`
    :ivar bridge: the bridge that the guest's link is added to; None: none
    :ivar switch: the bridge of Open vSwitch that the port is on
    :ivar datapath: its type, as Open vSwitch calls it; None: the kernel's
    """

    kind: str
    port_id: str
    mac: str
    mtu: int | None = None
    bridge: str | None = None
    switch: str | None = None
    datapath: str | None = None

    @classmethod
    def of(cls, vif: Vif) -> Self | None:
        """Read a port; None: it is unbound, as those of ``[network] driver = local``.

        :raises roost.exception.BuildFailed: naming the binding, when this host cannot plug it;
            another host may
        """
        if vif.type is None:
            return None
        details = {name: json.loads(text) for name, text in vif.details.items()}
        where = _where(vif, details)
        if where is None or vif.vnic_type not in (None, _NORMAL):
            raise _refused(vif)
        return cls(kind=vif.type, port_id=vif.id, mac=vif.mac, mtu=vif.mtu, **where)

    @property
    def tap(self) -> str:
        """The name of the guest's link."""
        return tap_of(self.port_id)

    @property
    def is_hybrid(self) -> bool:
        """Whether there is a bridge of the port's own between its guest and Open vSwitch."""
        return self.kind == OVS and self.bridge != self.switch


def _where(vif: Vif, details: dict[str, Any]) -> dict[str, str | None] | None:
    """Return the other fields of a binding; None: it cannot be plugged."""
    bridge = details.get("bridge_name")
    if vif.type == TAP:
        return {}
    if vif.type == BRIDGE and bridge:
        return {"bridge": bridge}
    if vif.type == OVS and bridge:
        own = f"qbr{vif.id}"[:_LENGTH] if details.get("ovs_hybrid_plug") else bridge
        return {"bridge": own, "switch": bridge, "datapath": details.get("datapath_type")}
    return None


def _refused(vif: Vif) -> exception.BuildFailed:
    kind = vif.vnic_type or _NORMAL
    what = vif.type if kind == _NORMAL else f"{vif.type} for a vnic_type {kind}"
    return exception.BuildFailed(
        f"Port {vif.id} is bound as {what}, which this host cannot plug; it plugs ports that are"
        " bound as bridge or ovs with a bridge_name, or as tap, and those of local networks."
    )
