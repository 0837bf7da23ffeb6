"""One cell: its database and the way to its hosts, each behind a breaker."""

import contextlib
import functools
import logging

from roost import exception, states
from roost.cells.breaker import Breaker, Limits
from roost.cells.bus import Bus, GuardedBus
from roost.cells.host_calls import HostCalls
from roost.context import RequestContext
from roost.db import guarded
from roost.db.cell import actions, burial, instances
from roost.db.engine import Database, retried
from roost.db.guarded import GuardedDatabase
from roost.db.types import utcnow
from roost.objects import CellMapping, InstanceAction
from roost.rpc.compute import Compute

LOG = logging.getLogger(__name__)


class Cell:
    """One cell: its database, and the way to its computes. cell0 has a database only.

    What is away fails alone: see :mod:`roost.cells.breaker`.
    """

    def __init__(
        self,
        mapping: CellMapping,
        database: Database,
        bus: Bus | None,
        *,
        limits: Limits,
        host_calls: HostCalls | None = None,
    ) -> None:
        self.mapping = mapping
        self._rows = Breaker(
            f"the database of the {self}", functools.partial(guarded.ask, database), limits=limits
        )
        self.database = GuardedDatabase(database, self._rows)
        guarded_bus = functools.partial(GuardedBus, f"the bus of the {self}")
        self._bus = None if bus is None else guarded_bus(bus, limits, host_calls)

    def __str__(self) -> str:
        return f"cell {self.name}"

    @property
    def name(self) -> str:
        return str(self.mapping.name)

    @property
    def uuid(self) -> str:
        return str(self.mapping.uuid)

    @property
    def is_cell0(self) -> bool:
        return self.mapping.is_cell0

    @property
    def is_readable(self) -> bool:
        """Whether its database answers, as far as is known."""
        return not self._rows.is_open

    @property
    def is_away(self) -> bool:
        """Whether its database or its bus is known not to answer: it takes no new instances."""
        return not self.is_readable or (self._bus is not None and self._bus.breaker.is_open)

    @property
    def bus(self) -> GuardedBus:
        if self._bus is None:
            raise exception.Internal(f"the cell {self.name} has no bus")
        return self._bus

    @functools.cached_property
    def compute(self) -> Compute:
        """The client of this cell's hosts; ``.on(host)`` names one."""
        return Compute(self.bus)

    def knock(self) -> None:
        """Ask database and bus whether they are there: what does not answer is away from now on.

        What is known to be away is not asked: its breaker does that already.
        """
        for part in (self.database, self._bus):
            if part is not None:
                with contextlib.suppress(exception.Unavailable):
                    part.knock()

    def end_instance(self, context: RequestContext, instance_uuid: str) -> bool:
        """Let an instance end: tell its host, or bury it where it has none. May be repeated.

        :returns: False when it was gone already
        """
        try:
            host = self._mark_ending(context, instance_uuid)
        except exception.NotFound:  # it may go at any moment: somebody else may end it, too
            return False
        if host is not None:
            self._tell(context, host, instance_uuid)
        return True

    @retried
    def _mark_ending(self, context: RequestContext, instance_uuid: str) -> str | None:
        """Write down that an instance ends, and return the host that has it."""
        with self.database.begin() as session:
            instance = instances.get(session, instance_uuid)
            if instance.host is not None:
                ending = {"task_state": states.DELETING}
                instances.update(session, instance_uuid, ending, expected={})
            actions.start(session, _delete_action(context, instance_uuid))
            if instance.host is None:
                burial.bury(session, instance_uuid, [])
            return str(instance.host) if instance.host is not None else None

    def close(self) -> None:
        self._rows.close()
        self.database.close()
        if self._bus is not None:
            self._bus.close()

    def _tell(self, context: RequestContext, host: str, instance_uuid: str) -> None:
        """Cast a hint; the row says it, too, so a lost one is sent again by the sweeper."""
        try:
            self.compute.on(host).terminate_instance(context, instance_uuid=instance_uuid)
        except exception.Unavailable as error:
            LOG.warning(
                "%s: host %s does not know yet that it ends: %s", instance_uuid, host, error
            )


def _delete_action(context: RequestContext, instance_uuid: str) -> InstanceAction:
    return InstanceAction(
        instance_uuid=instance_uuid,
        action="delete",
        request_id=context.request_id,
        user_id=context.user_id,
        project_id=context.project_id,
        start_time=utcnow(),
        finish_time=None,
        message=None,
        events=[],
    )
