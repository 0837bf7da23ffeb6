"""How a running guest does, as its hypervisor measures it."""

import dataclasses
from typing import Any

from roost import exception, states
from roost.compute.virt.driver import MeasuresGuests, VirtDriver


def measure(virt: VirtDriver, instance_uuid: str) -> dict[str, Any]:
    """Return what is measured, as plain values.

    :raises roost.exception.Conflict: when the guest does not run
    :raises roost.exception.NotFound: when there is no such guest
    :raises roost.exception.Unsupported: when the hypervisor does not measure guests
    """
    if not isinstance(virt, MeasuresGuests):
        raise exception.Unsupported("The requested functionality is not supported.")
    if virt.describe(instance_uuid).power_state != states.RUNNING:
        raise exception.Conflict(f"The guest of instance {instance_uuid} does not run.")
    return dataclasses.asdict(virt.diagnostics(instance_uuid))
