"""How busy the machine is that a compute runs on, for drivers whose node that is."""

import os

import psutil

from roost.compute.virt.driver import Load


def of_this_machine() -> Load:
    """Return what ``uptime`` tells of it.

    :raises OSError: when the system does not say
    """
    return Load(averages=os.getloadavg(), users=len(psutil.users()))
