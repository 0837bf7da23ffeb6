"""Ports on Open vSwitch, by os-vif: the library that Neutron's drivers and agents are tested with.

It is imported when the first such port is plugged. Nothing of it is configured but through us.
"""

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from oslo_config import cfg

from roost import exception
from roost.compute.bindings import Binding

_NAME: Final = "ovs"
_GROUP: Final = "os_vif_ovs"
_SECONDS: Final = 30  # that OVSDB gets to answer


class OpenVSwitch:
    """The Open vSwitch of this host.

    :param database: where its OVSDB answers, as ``ovs-vsctl --db`` takes it
    """

    def __init__(self, database: str) -> None:
        self._database = database

    def plug(self, binding: Binding, *, instance_uuid: str) -> None:
        """Have what a port's guest is to be plugged into; may be repeated.

        The guest's own link is the hypervisor's to put on the switch. Where the port has a bridge
        of its own, there is all from that to the switch.

        :raises roost.exception.Internal: when it cannot be
        """
        with _failures(f"port {binding.port_id} cannot be plugged into Open vSwitch"):
            self._plugin.plug(_vif(binding), _owner(instance_uuid))

    def unplug(self, binding: Binding, *, instance_uuid: str) -> None:
        """Leave nothing of a port; may be repeated.

        :raises roost.exception.Internal: when something stays
        """
        with _failures(f"port {binding.port_id} cannot be taken from Open vSwitch"):
            self._plugin.unplug(_vif(binding), _owner(instance_uuid))

    @functools.cached_property
    def _plugin(self) -> Any:
        """Return os-vif's plug-in: it acts in this process, which is root's as libvirt wants it."""
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
    """Return a port in the words of os-vif."""
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
    """Tell what has failed; os-vif's plug-ins raise whatever came up below them."""
    try:
        yield
    except ImportError as error:
        raise exception.Internal(
            f"{what}: {error}; install os-vif, as pip install 'roost[libvirt]' does"
        ) from error
    except Exception as error:
        raise exception.Internal(f"{what}: {error}") from error
