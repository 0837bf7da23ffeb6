"""What hosts say of their builds, written down: each a compare-and-swap in one transaction."""

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from roost import exception, states
from roost.db.cell import actions, builds, instances, leases, ports, provisions
from roost.db.engine import Database, Session, retried
from roost.networks import LocalNetwork
from roost.objects import (
    ImageMeta,
    Instance,
    InstanceActionEvent,
    NetworkInfo,
    Selection,
    root_device,
)

CHANGEABLE = (
    "attempt",
    "vm_state",
    "task_state",
    "power_state",
    "launched_at",
    "network_info",
    "config_drive",
    "image",
)
EXPECTABLE = ("host", "attempt", "vm_state", "task_state")


@dataclasses.dataclass(frozen=True)
class Progress:
    """Keeps the rows of this cell's instances true.

    :param host: the name of this conductor's host, for the instances' history
    :param stale_seconds: tasks that nobody has seen to for so long wait for an operator; 0: none do
    """

    host: str
    database: Database
    networks: Sequence[LocalNetwork]
    stale_seconds: float = 0

    def begin_build(
        self, instance_uuid: str, host: str, attempt: int, *, selection: Selection | None = None
    ) -> bool:
        """Let a host begin, once; False when the instance is not, or no longer, meant for it."""
        return self._begin(
            instance_uuid, host, attempt, selection=selection, begun=self.database.now()
        )

    @retried
    def _begin(
        self,
        instance_uuid: str,
        host: str,
        attempt: int,
        *,
        selection: Selection | None,
        begun: datetime.datetime,
    ) -> bool:
        with self.database.begin() as session:
            instance = instances.find(session, instance_uuid)
            if instance is None:
                return False
            if not builds.awaits(session, instance_uuid, host=host, selection=selection):
                return False
            first = states.NETWORKING if instance.networks else states.SPAWNING
            try:
                if instances.update(
                    session,
                    instance_uuid,
                    {"task_state": first},
                    expected={"host": host, "attempt": attempt, "task_state": states.SCHEDULING},
                    at=begun,
                ):
                    actions.add_events(session, instance_uuid, [self._begun(begun, host)])
            except exception.Conflict:
                return False
            return True

    @retried
    def allocate_networks(self, instance_uuid: str, host: str, attempt: int) -> NetworkInfo:
        """Give an instance its ports and let it go on to its guest."""
        with self.database.begin() as session:
            instance = instances.get(session, instance_uuid)
            info = ports.allocate(
                session,
                instance_uuid=instance_uuid,
                host=host,
                requests=instance.networks,
                networks=self.networks,
            )
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
    def renew_leases(
        self,
        host: str,
        held: Sequence[leases.Held],
        *,
        seconds: float,
        nothing_else: bool,
    ) -> list[int]:
        """Renew what a host works on; return the places of what is not its own any more."""
        with self.database.begin() as session:
            lost = leases.renew(session, held, host=host, seconds=seconds)
            if nothing_else:
                leases.end_others(session, held, host=host, stale_seconds=self.stale_seconds)
        return sorted(lost)

    @retried
    def free_networks(self, instance_uuid: str, host: str) -> None:
        """Take the ports of an instance away that is on a host, or on none any more."""
        with self.database.begin() as session:
            instance = instances.find(session, instance_uuid)
            if instance is not None and instance.host not in (host, None):
                raise exception.Conflict(f"The instance {instance_uuid} is not on {host}.")
            ports.free(session, instance_uuid)

    def begin_task(self, instance_uuid: str, host: str, tasks: Sequence[str]) -> Instance | None:
        """Return an instance that this host is to do something to."""
        with self.database.read() as session:
            found = instances.find(session, instance_uuid)
            if found is None or found.host != host or found.task_state not in tasks:
                return None
            return provisions.get_instance(session, instance_uuid)

    def update(
        self,
        instance_uuid: str,
        changes: Mapping[str, Any],
        expected: Mapping[str, Any],
        events: Sequence[InstanceActionEvent],
    ) -> None:
        """Change an instance if it is as expected; one that comes to rest ends its build.

        :raises roost.exception.Invalid: for a field that is not a host's to change
        """
        _refuse_others("changes", changes, CHANGEABLE)
        _refuse_others("expected", expected, EXPECTABLE)
        self._update(instance_uuid, changes, expected, events, at=self.database.now())

    @retried
    def _update(
        self,
        instance_uuid: str,
        changes: Mapping[str, Any],
        expected: Mapping[str, Any],
        events: Sequence[InstanceActionEvent],
        *,
        at: datetime.datetime,
    ) -> None:
        rests = "vm_state" in changes and changes.get("task_state", "") is None
        with self.database.begin() as session:
            if _changes_nothing(session, instance_uuid, changes, events):
                return
            if "image" in changes:
                name = _root_name(session, instance_uuid, changes["image"])
                changes = {**changes, "root_device_name": name}
            if not instances.update(session, instance_uuid, changes, expected=expected, at=at):
                return
            actions.add_events(session, instance_uuid, events, finish=rests)
            if rests:
                builds.end(session, instance_uuid)
                if changes["vm_state"] == states.ERROR:
                    provisions.forget_secrets(session, instance_uuid)
                else:
                    provisions.forget_password(session, instance_uuid)

    def _begun(self, begun: Any, host: str) -> InstanceActionEvent:
        return InstanceActionEvent(
            event="cell-conductor.begin_build",
            host=self.host,
            start_time=begun,
            finish_time=self.database.now(),
            result="Success",
            details=f"on {host}",
        )


def _changes_nothing(
    session: Session,
    instance_uuid: str,
    changes: Mapping[str, Any],
    events: Sequence[InstanceActionEvent],
) -> bool:
    """Tell whether a host has only looked at ports, and found them as the row says already."""
    if events or changes.keys() != {"network_info"}:
        return False
    return bool(instances.network_info(session, instance_uuid) == changes["network_info"])


def _root_name(session: Session, instance_uuid: str, image: ImageMeta | None) -> str:
    """Return what the disk is called that an instance will boot from, of another image."""
    given = provisions.find(session, instance_uuid)
    return root_device.name_by(given.block_devices if given else (), image)


def _refuse_others(what: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    other = sorted(set(given) - set(known))
    if other:
        raise exception.Invalid(f"{what} may not name {', '.join(other)}; only {', '.join(known)}")
