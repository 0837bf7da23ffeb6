"""Attaching and detaching interfaces of existing guests.

Before: ``api/servers/interfaces.py`` calls, and waits. After: port, row and guest agree. Both calls
may be repeated. If attaching to the guest fails, the port is released; if detaching from the guest
fails, the port stays.
"""

import logging

from roost import exception
from roost.compute.host import Host
from roost.compute.virt.driver import AttachesInterfaces, VirtDriver
from roost.context import RequestContext
from roost.objects import Instance, NetworkRequest, Vif

LOG = logging.getLogger(__name__)


def attach(
    host: Host, *, context: RequestContext, instance: Instance, request: NetworkRequest, key: str
) -> Vif:
    """Give an instance one more interface; nothing else may work on it."""
    virt = _able(host.virt)
    vif = host.networks.attach(context, instance, request, key=key)
    try:
        virt.attach_interface(instance.uuid, vif)
    except Exception:
        LOG.warning("[instance: %s] port %s could not be attached", instance.uuid, vif.id)
        _give_back(host, context, instance, str(vif.id))
        raise
    LOG.info("[instance: %s] port %s attached", instance.uuid, vif.id)
    return vif


def detach(host: Host, *, context: RequestContext, instance: Instance, port_id: str) -> None:
    """Detach an interface from the guest, then release its port, so the guest cannot use it."""
    _able(host.virt).detach_interface(instance.uuid, port_id)
    host.networks.detach(context, instance, port_id)
    LOG.info("[instance: %s] port %s detached", instance.uuid, port_id)


def _give_back(host: Host, context: RequestContext, instance: Instance, port_id: str) -> None:
    try:
        _able(host.virt).detach_interface(instance.uuid, port_id)
        host.networks.detach(context, instance, port_id)
    except exception.RoostError as error:
        LOG.warning("[instance: %s] port %s stays: %s", instance.uuid, port_id, error.message)


def _able(virt: VirtDriver) -> AttachesInterfaces:
    if not isinstance(virt, AttachesInterfaces):
        raise exception.Unsupported("The hypervisor of this server cannot change its interfaces.")
    return virt
