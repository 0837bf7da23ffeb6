"""Attaching and detaching interfaces of existing guests.

After it: port, row and guest agree. If attaching to the guest fails, the port is released; if
detaching from the guest fails, the port stays.
"""

import logging
from typing import Final

from roost import exception
from roost.compute.operations.operation import HostOperation, step
from roost.compute.virt.driver import AttachesInterfaces, VirtDriver
from roost.operations import kinds

LOG = logging.getLogger(__name__)


@step
def attach_interface(operation: HostOperation) -> None:
    """Give the guest one more interface, whose port is made or taken once, by its mark."""
    virt, request = _able(operation.host.virt), operation.params.request
    assert request is not None
    vif = operation.host.networks.attach(
        operation.context, operation.instance, request, key=str(operation.params.port_id)
    )
    try:
        virt.attach_interface(operation.uuid, vif)
    except Exception:
        LOG.warning("%s: port %s could not be attached", operation, vif.id)
        _give_back(operation, str(vif.id))
        raise
    LOG.info("%s: port %s attached", operation, vif.id)


@step
def detach_interface(operation: HostOperation) -> None:
    """Detach an interface from the guest, then release its port, so the guest cannot use it."""
    _detach(operation, str(operation.params.port_id))
    LOG.info("%s: port %s detached", operation, operation.params.port_id)


def _detach(operation: HostOperation, port_id: str) -> None:
    _able(operation.host.virt).detach_interface(operation.uuid, port_id)
    operation.host.networks.detach(operation.context, operation.instance, port_id)


def _give_back(operation: HostOperation, port_id: str) -> None:
    try:
        _detach(operation, port_id)
    except exception.Unavailable:
        raise  # then all of it is done again, with the same port
    except exception.RoostError as error:
        LOG.warning("%s: port %s stays: %s", operation, port_id, error.message)


def _able(virt: VirtDriver) -> AttachesInterfaces:
    if not isinstance(virt, AttachesInterfaces):
        raise exception.Unsupported("The hypervisor of this server cannot change its interfaces.")
    return virt


WORK: Final = {kinds.ATTACH_INTERFACE: attach_interface, kinds.DETACH_INTERFACE: detach_interface}
