"""Values of hosts that extra specs and queries may compare, by name.

=======================================  =========================================================
name                                     what it is
=======================================  =========================================================
``total_usable_ram_mb``                  MiB of memory that instances may have, overcommit included
``free_ram_mb``                          MiB of it that are free
``total_usable_disk_gb``                 GiB of disk that instances may have, overcommit included
``free_disk_mb`` ``disk_mb_used``        MiB of disk that are free, and that are claimed
``vcpus_total`` ``vcpus_used``           CPUs that instances may share, overcommit included
``pcpus_total`` ``pcpus_used``           CPUs that are given to one instance each
``num_instances``                        the number of instances
``num_io_ops``                           the number of I/O operations such as builds
``failed_builds``                        the number of builds that failed since the last success
``hypervisor_version``                   as a number, such as 8002000
``hypervisor_type``                      a name, such as QEMU
``host``                                 the name of the compute host
``hypervisor_hostname`` ``nodename``     the name of its node
``availability_zone`` ``cell_uuid``      its zone and its cell
``host_ip``                              its address, if it reports one
=======================================  =========================================================
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from roost.scheduler.columns import Columns, Profile

Values = npt.NDArray[Any]

NUMBERS: Final[Mapping[str, Callable[[Columns], Values]]] = {
    "total_usable_ram_mb": lambda hosts: hosts.capacity_of("MEMORY_MB"),
    "free_ram_mb": lambda hosts: hosts.free("MEMORY_MB"),
    "total_usable_disk_gb": lambda hosts: hosts.capacity_of("DISK_GB"),
    "free_disk_mb": lambda hosts: hosts.free("DISK_GB") * 1024,
    "disk_mb_used": lambda hosts: hosts.used_of("DISK_GB") * 1024,
    "vcpus_total": lambda hosts: hosts.capacity_of("VCPU"),
    "vcpus_used": lambda hosts: hosts.used_of("VCPU"),
    "pcpus_total": lambda hosts: hosts.capacity_of("PCPU"),
    "pcpus_used": lambda hosts: hosts.used_of("PCPU"),
    "num_instances": lambda hosts: hosts.instances,
    "num_io_ops": lambda hosts: hosts.io_operations,
    "failed_builds": lambda hosts: hosts.failed_builds,
    "hypervisor_version": lambda hosts: hosts.number_by_profile(
        lambda profile: profile.hypervisor_version
    ),
}
TEXTS: Final[Mapping[str, Callable[[Columns], Values]]] = {
    "host": lambda hosts: _names(hosts, "host"),
    "hypervisor_hostname": lambda hosts: _names(hosts, "node"),
    "nodename": lambda hosts: _names(hosts, "node"),
    "availability_zone": lambda hosts: _names(hosts, "zone"),
    "cell_uuid": lambda hosts: _names(hosts, "cell"),
    "host_ip": lambda hosts: _texts([address or "" for address in hosts.host_ip]),
    "hypervisor_type": lambda hosts: by_profile(hosts, lambda profile: profile.hypervisor_type),
}


def by_profile(hosts: Columns, text: Callable[[Profile], str]) -> Values:
    """Return ``text`` of every host's profile."""
    profiles, where = np.unique(hosts.profile, return_inverse=True)
    shared = hosts.shared.profiles
    return _texts([text(Profile.parse(shared[code])) for code in profiles.tolist()])[where]


def _names(hosts: Columns, column: str) -> Values:
    names = hosts.shared.names
    return _texts([names[code] for code in getattr(hosts, column).tolist()])


def _texts(values: list[str]) -> Values:
    return np.array(values, dtype=np.str_)
