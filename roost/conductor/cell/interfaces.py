"""Attaches and detaches ports of the local network driver.

Before: ``compute/operations/interfaces.py`` calls, with no other task on the instance. After: the
port and the network_info in the instance's row are changed in one transaction.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Final

from roost import exception, states
from roost.db.cell import instances, ports
from roost.db.engine import Database, Session, retried
from roost.networks import LocalNetwork
from roost.objects import NetworkRequest, Vif

_STATES: Final = (states.ACTIVE, states.PAUSED, states.STOPPED)


@dataclasses.dataclass(frozen=True)
class Interfaces:
    """Adds and removes single ports."""

    database: Database
    networks: Sequence[LocalNetwork]

    def attach(self, instance_uuid: str, host: str, request: NetworkRequest, *, key: str) -> Vif:
        """Add a port to an instance, unless it exists; and return it.

        :param key: the port's id, unless the request names a port
        """
        key = str(request.port_id or key)

        def add(session: Session) -> None:
            ports.add(
                session,
                instance_uuid=instance_uuid,
                host=host,
                request=request,
                networks=self.networks,
                port_id=key,
            )

        found = {str(vif.id): vif for vif in self._change(instance_uuid, host, add)}
        if key not in found:
            raise exception.Conflict(f"Instance {instance_uuid} gets another interface right now.")
        return found[key]

    def detach(self, instance_uuid: str, host: str, port_id: str) -> None:
        """Remove a port from an instance, if it has it."""

        def remove(session: Session) -> None:
            ports.remove(session, instance_uuid=instance_uuid, port_id=port_id)

        self._change(instance_uuid, host, remove)

    @retried
    def _change(
        self, instance_uuid: str, host: str, change: Callable[[Session], None]
    ) -> Sequence[Vif]:
        with self.database.begin() as session:
            change(session)
            info = ports.info(session, instance_uuid, networks=self.networks)
            instances.update(
                session,
                instance_uuid,
                {"network_info": info},
                expected={"host": host, "vm_state": _STATES},
            )
        return list(info.vifs)
