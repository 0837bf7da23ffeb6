"""The interfaces of instances, and the ports of the local network driver.

Before: a step in ``compute/operations/`` calls. After: the ports and the network_info in the
instance's row are changed in one transaction. Ports of a network service are not here: its driver
on the host has changed them, and writes what it has found.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from roost import exception, states
from roost.db.cell import instances, operations, ports
from roost.db.engine import Database, Session, retried
from roost.networks import LocalNetwork
from roost.objects import NetworkInfo, NetworkRequest, Vif
from roost.operations.kinds import BUILD

_EXPECTABLE: Final = ("host", "attempt", "vm_state", "task_state")
_STATES: Final = (states.ACTIVE, states.PAUSED, states.STOPPED)


@dataclasses.dataclass(frozen=True)
class Interfaces:
    """Changes the interfaces of instances."""

    database: Database
    networks: Sequence[LocalNetwork]

    @retried
    def allocate(self, instance_uuid: str, host: str, attempt: int) -> NetworkInfo:
        """Create an instance's ports and set the task state to spawning.

        An instance that moves, or is unshelved, keeps the ports that it has, which are bound to
        this host, and its task state.
        """
        with self.database.begin() as session:
            instance = instances.get(session, instance_uuid)
            builds = instance.task_state in BUILD.tasks
            comes = None if builds else operations.find(session, instance_uuid)
            if comes is not None and comes.host != host:
                raise exception.Conflict(f"{comes.host} works on {instance_uuid}.")
            info = ports.allocate(
                session,
                instance_uuid=instance_uuid,
                host=host,
                requests=instance.networks if comes is None else [],
                networks=self.networks,
            )
            if comes is not None:
                operations.check(session, comes)
                return info
            instances.update(
                session,
                instance_uuid,
                {"task_state": states.SPAWNING, "network_info": info},
                expected={
                    "host": host,
                    "attempt": attempt,
                    "task_state": (states.NETWORKING, states.SPAWNING),
                },
            )
            return info

    @retried
    def free(self, instance_uuid: str, host: str) -> None:
        """Delete the ports of an instance that is on this host, or on no host."""
        with self.database.begin() as session:
            instance = instances.find(session, instance_uuid)
            if instance is not None and instance.host not in (host, None):
                raise exception.Conflict(f"The instance {instance_uuid} is not on {host}.")
            ports.free(session, instance_uuid)

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

    @retried
    def write(
        self,
        instance_uuid: str,
        info: NetworkInfo,
        *,
        expected: Mapping[str, Any],
        spawns: bool = False,
    ) -> None:
        """Write the interfaces of an instance, as its host has found them.

        :param expected: host, attempt, vm_state and task_state of its row, or some of them
        :param spawns: whether it is being built, and its guest is created next
        :raises roost.exception.Conflict: when it is not as expected
        :raises roost.exception.NotFound: when it does not exist
        :raises roost.exception.Invalid: when something else is expected
        """
        refuse_others("expected", expected, _EXPECTABLE)
        if spawns:
            expected = {**expected, "vm_state": states.BUILDING}
        changes: dict[str, Any] = {"network_info": info}
        if spawns:
            changes["task_state"] = states.SPAWNING
        with self.database.begin() as session:
            if spawns or instances.network_info(session, instance_uuid) != info:
                instances.update(session, instance_uuid, changes, expected=expected)


def refuse_others(what: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    other = sorted(set(given) - set(known))
    if other:
        raise exception.Invalid(f"{what} may not name {', '.join(other)}; only {', '.join(known)}")
