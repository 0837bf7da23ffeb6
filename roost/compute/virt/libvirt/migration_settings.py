"""What the operator says of moving guests between hosts while they run."""

import dataclasses
import enum
import ipaddress
from typing import Final, Self

from oslo_config import cfg

_GIB: Final = 1024**3


class TimeoutAction(enum.Enum):
    """What is done about a move that takes too long."""

    ABORT = "abort"
    FORCE_COMPLETE = "force_complete"


@dataclasses.dataclass(frozen=True)
class MigrationSettings:
    """``uri``: where our libvirtd answers others; ``address``: where memory and disks come in.

    :param bandwidth: MiB that a move may send in a second; 0: all that there is
    :param downtime: ms that a guest may be held to complete its move
    :param seconds_per_gib: that a move may take for each GiB of memory and disks; 0: for ever
    """

    uri: str = "qemu+tls://localhost/system"
    address: str = "localhost"
    bandwidth: int = 0
    downtime: int = 500
    post_copy: bool = False
    auto_converge: bool = False
    seconds_per_gib: int = 800
    timeout_action: TimeoutAction = TimeoutAction.ABORT

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        group = conf.libvirt
        address = group.live_migration_inbound_addr or conf.host
        return cls(
            uri=group.live_migration_uri or f"qemu+tls://{in_uri(address)}/system",
            address=address,
            bandwidth=group.live_migration_bandwidth,
            downtime=group.live_migration_downtime,
            post_copy=group.live_migration_permit_post_copy,
            auto_converge=group.live_migration_permit_auto_converge,
            seconds_per_gib=group.live_migration_completion_timeout,
            timeout_action=TimeoutAction(group.live_migration_timeout_action),
        )

    @property
    def traits(self) -> tuple[str, ...]:
        """What of this the scheduler is told."""
        said = {
            "COMPUTE_MIGRATE_AUTO_CONVERGE": self.auto_converge,
            "COMPUTE_MIGRATE_POST_COPY": self.post_copy,
        }
        return tuple(name for name, is_so in said.items() if is_so)

    def seconds(self, size: int) -> float | None:
        """Return what a move of so many bytes may take; None: as long as it likes."""
        return max(1.0, size / _GIB) * self.seconds_per_gib or None


def in_uri(address: str) -> str:
    """Return an address as it is written in a URI."""
    return f"[{address}]" if ":" in address else address


def is_number(address: str) -> bool:
    """Tell whether it is an address itself, not a name that stands for some."""
    try:
        ipaddress.ip_address(address)
    except ValueError:
        return False
    return True
