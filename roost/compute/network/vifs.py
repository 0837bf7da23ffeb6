"""Devices of Neutron ports on this host: plugged before the guest starts, unplugged after its end.

Ports bound as ``ovs`` are on Open vSwitch, plugged by os-vif, the library that Neutron's drivers
and agents are tested with; it is imported when the first such port is plugged, and reads no
configuration files. Ports bound as ``tap`` are tap devices, which an external agent connects.
Ports bound as ``bridge`` need nothing: the hypervisor creates the link and adds it to the bridge.

The ports are stored on disk before they are plugged, so they are found again after any crash.
"""

import dataclasses
import functools
import json
import logging
import pathlib
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Protocol, Self

from oslo_config import cfg

from roost import exception
from roost.compute.network.bindings import BRIDGE, OVS, Binding, read_whole, write_whole
from roost.compute.network.bridge.system import System
from roost.objects import NetworkInfo, Vif

_NAME: Final = "ovs"
_GROUP: Final = "os_vif_ovs"
_SECONDS: Final = 30  # timeout of OVSDB


class OpenVSwitch:
    """The Open vSwitch of this host.

    :param database: the address of its OVSDB, as for ``ovs-vsctl --db``
    """

    def __init__(self, database: str) -> None:
        self._database = database

    def plug(self, binding: Binding, *, instance_uuid: str) -> None:
        """Create what a port's guest is to be plugged into; may be repeated.

        The hypervisor adds the guest's own link to the switch. If the port has a bridge of its own,
        this creates the bridge and its link to the switch.

        :raises roost.exception.Internal: when that fails
        """
        with _failures(f"port {binding.port_id} cannot be plugged into Open vSwitch"):
            self._plugin.plug(_vif(binding), _owner(instance_uuid))

    def unplug(self, binding: Binding, *, instance_uuid: str) -> None:
        """Remove everything of a port; may be repeated.

        :raises roost.exception.Internal: when that fails
        """
        with _failures(f"port {binding.port_id} cannot be taken from Open vSwitch"):
            self._plugin.unplug(_vif(binding), _owner(instance_uuid))

    @functools.cached_property
    def _plugin(self) -> Any:
        """Return os-vif's plug-in, which runs in this process; that needs root, as libvirt does."""
        import os_vif.objects
        from vif_plug_ovs import ovs, privsep

        os_vif.objects.register_all()
        privsep.vif_plug.set_client_mode(False)
        conf = cfg.ConfigOpts()
        conf.register_opts(ovs.OvsPlugin.CONFIG_OPTS, group=_GROUP)
        conf([], default_config_files=[], default_config_dirs=[])
        conf.set_override("ovsdb_connection", self._database, group=_GROUP)
        conf.set_override("ovs_vsctl_timeout", _SECONDS, group=_GROUP)
        return ovs.OvsPlugin(conf[_GROUP])


def _owner(instance_uuid: str) -> Any:
    from os_vif.objects.instance_info import InstanceInfo

    return InstanceInfo(uuid=instance_uuid, name=instance_uuid)


def _vif(binding: Binding) -> Any:
    """Return a port as an object of os-vif."""
    from os_vif.objects import network, vif

    profile = vif.VIFPortProfileOpenVSwitch(
        interface_id=binding.port_id, datapath_type=binding.datapath
    )
    kind = vif.VIFBridge if binding.is_hybrid else vif.VIFOpenVSwitch
    return kind(
        id=binding.port_id,
        address=binding.mac,
        plugin=_NAME,
        vif_name=binding.tap,
        bridge_name=binding.bridge,
        network=network.Network(bridge=binding.switch, mtu=binding.mtu),
        port_profile=profile,
    )


@contextmanager
def _failures(what: str) -> Iterator[None]:
    """Convert any error to ``Internal``; os-vif's plug-ins raise errors of many libraries."""
    try:
        yield
    except ImportError as error:
        raise exception.Internal(
            f"{what}: {error}; install os-vif, as pip install 'roost[libvirt]' does"
        ) from error
    except Exception as error:
        raise exception.Internal(f"{what}: {error}") from error


LOG = logging.getLogger(__name__)
_BRIDGE_NAME: Final = "bridge_name"


class Switch(Protocol):
    """The interface of :class:`OpenVSwitch`; both methods may be repeated."""

    def plug(self, binding: Binding, *, instance_uuid: str) -> None: ...

    def unplug(self, binding: Binding, *, instance_uuid: str) -> None: ...


@dataclasses.dataclass(frozen=True)
class VifRecord:
    """An instance's wanted ports, and former ports that may not be unplugged yet."""

    ports: tuple[Binding, ...] = ()
    leaving: tuple[Binding, ...] = ()

    @property
    def everything(self) -> tuple[Binding, ...]:
        return (*self.ports, *self.leaving)


class Vifs:
    """Plugs and unplugs ports, and stores records of them.

    :param folder: has a record file for each instance
    :param switch_name: the bridge of Open vSwitch for ports whose binding names none
    """

    def __init__(
        self, folder: pathlib.Path, *, system: System, switch: Switch, switch_name: str
    ) -> None:
        self._folder = folder
        self._system = system
        self._switch = switch
        self._switch_name = switch_name
        self._lock = threading.Lock()

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        return cls(
            pathlib.Path(conf.state_path, conf.host, "vifs"),
            system=System(),
            switch=OpenVSwitch(conf.neutron.ovsdb_connection),
            switch_name=conf.neutron.ovs_bridge,
        )

    def plug(self, instance_uuid: str, info: NetworkInfo) -> NetworkInfo:
        """Plug these ports of an instance and unplug all others; return them as plugged.

        :raises roost.exception.BuildFailed: naming the port that failed; another host may do
        """
        completed = self.completed(info)
        bindings = [one for vif in completed.vifs if (one := Binding.of(vif)) is not None]
        wanted = [binding for binding in bindings if binding.kind != BRIDGE]
        try:
            with self._lock:
                self._become(instance_uuid, wanted)
        except (exception.Internal, OSError) as error:
            raise exception.BuildFailed(str(error)) from error
        return completed

    def completed(self, info: NetworkInfo) -> NetworkInfo:
        """Return ports as :meth:`plug` does; nothing is plugged."""
        return NetworkInfo.of(vifs=[self._complete(vif) for vif in info.vifs])

    def unplug(self, instance_uuid: str) -> None:
        """Unplug all ports of an instance; may be repeated."""
        with self._lock:
            self._become(instance_uuid, [])

    def plugged(self) -> list[str]:
        """Return the instances that have records."""
        return sorted(path.stem for path in self._folder.glob("*.json"))

    def restore(self) -> None:
        """Plug all ports of the records again; failures are logged."""
        for uuid in self.plugged():
            with self._lock:
                self._restore(uuid)

    def _restore(self, uuid: str) -> None:
        try:
            self._become(uuid, self._read(uuid).ports)
        except (exception.Internal, OSError) as error:
            LOG.error("[instance: %s] ports could not be restored: %s", uuid, error)  # noqa: TRY400

    def _complete(self, vif: Vif) -> Vif:
        """Add the configured switch to a port whose binding names none."""
        if vif.type != OVS or _BRIDGE_NAME in vif.details:
            return vif
        named: Vif = vif.obj_clone()
        named.details = {**vif.details, _BRIDGE_NAME: json.dumps(self._switch_name)}
        return named

    def _become(self, uuid: str, wanted: Sequence[Binding]) -> None:
        known = self._read(uuid)
        leaving = tuple(one for one in known.everything if one not in wanted)
        self._write(uuid, VifRecord(tuple(wanted), leaving))
        for binding in leaving:
            self._remove(uuid, binding)
        for binding in wanted:
            self._have(uuid, binding)
        self._write(uuid, VifRecord(tuple(wanted)))

    def _have(self, uuid: str, binding: Binding) -> None:
        if binding.kind == OVS:
            self._switch.plug(binding, instance_uuid=uuid)
            return
        if not self._is_there(binding.tap):
            self._system.run("ip", "tuntap", "add", "dev", binding.tap, "mode", "tap")
        mtu = () if binding.mtu is None else ("mtu", str(binding.mtu))
        self._system.run("ip", "link", "set", "dev", binding.tap, "addrgenmode", "none")
        self._system.run("ip", "link", "set", "dev", binding.tap, *mtu, "up")

    def _remove(self, uuid: str, binding: Binding) -> None:
        if binding.kind == OVS:
            self._switch.unplug(binding, instance_uuid=uuid)
        elif self._is_there(binding.tap):
            self._system.run("ip", "link", "delete", "dev", binding.tap)

    def _is_there(self, link: str) -> bool:
        return self._system.succeeds("ip", "link", "show", "dev", link)

    def _read(self, uuid: str) -> VifRecord:
        path = self._path(uuid)
        if not path.exists():
            return VifRecord()
        lists = read_whole(path)
        return VifRecord(**{name: tuple(Binding(**one) for one in lists[name]) for name in lists})

    def _write(self, uuid: str, record: VifRecord) -> None:
        if record == VifRecord():
            self._path(uuid).unlink(missing_ok=True)
        else:
            write_whole(self._path(uuid), json.dumps(dataclasses.asdict(record)))

    def _path(self, uuid: str) -> pathlib.Path:
        return self._folder / f"{uuid}.json"
