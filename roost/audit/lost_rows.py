"""Makes rows anew of servers that a cell's old copy does not have, from who else knows of them.

The API level knows whose a server is and what its request asked for, its host what its guest is.
What only the row knew is lost: name, metadata, tags, key pair, addresses that are rows.
"""

import dataclasses
import datetime
from typing import Final

from roost import old_rows, states
from roost.objects import Instance, InstanceMapping, RequestSpec

LOCKED_BY: Final = "owner"  # who of its project needs can unlock it


@dataclasses.dataclass(frozen=True)
class Asked:
    """What the API level knows of a server."""

    mapping: InstanceMapping
    spec: RequestSpec
    locked: bool

    @property
    def is_enough(self) -> bool:
        """Whether a row can be made of it: only the lost one knew its CPUs and devices."""
        return self.spec.numa_topology is None and not self.spec.pci_requests


def remade(asked: Asked, *, host: str, guest: old_rows.Guest, now: datetime.datetime) -> Instance:
    """Return the instance that a guest on a host is of, named after its uuid."""
    mapping, spec, uuid = asked.mapping, asked.spec, str(asked.mapping.instance_uuid)
    made, name = old_rows.origin(guest), f"restored-{uuid}"
    return Instance.of(
        uuid=uuid,
        project_id=mapping.project_id,
        user_id=mapping.user_id,
        reservation_id=f"r-{uuid[:8]}",
        launch_index=0,
        display_name=name,
        display_description=None,
        hostname=name,
        flavor=spec.flavor,
        image=made.get("image", spec.image),
        key_name=None,
        keypair=None,
        user_data=None,
        config_drive=False,
        metadata={},
        tags=[],
        access_ip_v4=None,
        access_ip_v6=None,
        availability_zone=spec.availability_zone,
        host=host,
        node=host,
        attempt=made.get("attempt", 1),
        vm_state=states.as_found(guest.power_state, rescued=guest.rescued) or states.ACTIVE,
        task_state=None,
        power_state=guest.power_state,
        locked=asked.locked,
        locked_by=LOCKED_BY if asked.locked else None,
        networks=[],
        network_info=None,
        created_at=mapping.created_at,
        updated_at=None,
        launched_at=now,
        deleted_at=None,
        fault=None,
    )
