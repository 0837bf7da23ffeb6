"""One cell: its database and its bus, each behind a circuit breaker; and operations in it.

A host is removed after the schedulers have forgotten it, which they refuse while it holds claims.
"""

import contextlib
import dataclasses
import datetime
import functools
import logging
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final, Protocol

import oslo_messaging as messaging

from roost import exception
from roost.cells.host_breakers import HostBreakers
from roost.circuit_breaker import CircuitBreaker
from roost.context import RequestContext
from roost.db import guarded
from roost.db.api import aggregates, cells
from roost.db.api import soft_delete as mappings
from roost.db.cell import deletion, instances, operations, services
from roost.db.engine import Database, retried
from roost.db.guarded import GuardedDatabase
from roost.db.types import utcnow
from roost.objects import (
    Aggregate,
    CellMapping,
    GivenLease,
    InstanceAction,
    InstanceMapping,
    Operation,
)
from roost.operations.kinds import DELETE, RESTORE, SOFT_DELETE
from roost.rpc.compute import Compute


class CellBus(Protocol):
    """The methods of a bus that a cell uses; see :class:`roost.rpc.transport.Bus`."""

    def client(self, topic: str, version_cap: str | None = None) -> Any: ...

    def check_replies(self) -> None: ...

    def ping(self, *, seconds: float) -> None: ...

    def close(self) -> None: ...


_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 10.0


@dataclasses.dataclass(frozen=True)
class CallLimits:
    """Limits of the calls to a part of a cell (its database or its bus).

    :param timeout: seconds that it may take to answer
    :param concurrency: limit of concurrent calls; further calls queue
    """

    timeout: float = 5.0
    concurrency: int = 64


def _breaker(name: str, probe: Callable[[], None], limits: CallLimits) -> CircuitBreaker:
    return CircuitBreaker(
        name,
        probe,
        timeout=limits.timeout,
        concurrency=limits.concurrency,
        pause=_FIRST_PAUSE,
        longest_pause=_LONGEST_PAUSE,
    )


class GuardedBus:
    """Sends through a bus while its breaker is closed.

    The bus itself bounds the time until a message is accepted.
    """

    def __init__(
        self, name: str, bus: CellBus, limits: CallLimits, hosts: HostBreakers | None = None
    ) -> None:
        self._bus = bus
        self._hosts = hosts
        self._seconds = limits.timeout
        self.breaker = _breaker(name, functools.partial(bus.ping, seconds=self._seconds), limits)

    def client(self, topic: str, version_cap: str | None = None) -> Any:
        return _Client(self._bus.client(topic, version_cap), self)

    def waiting(self, host: str | None) -> AbstractContextManager[None]:
        """Return the context manager for a call that waits for a host."""
        if self._hosts is None or host is None:
            return contextlib.nullcontext()
        return self._hosts.passing(host)

    def check_replies(self) -> None:
        """Check that the broker answers and that replies to calls reach this process.

        :raises roost.exception.Unavailable: when either fails
        """
        self.probe()
        self._bus.check_replies()

    def probe(self) -> None:
        """Ping the broker.

        :raises roost.exception.Unavailable: when it does not answer; this opens the breaker
        """
        with self.breaker.passing() as call:
            try:
                self._bus.ping(seconds=self._seconds)
            except exception.Unavailable as error:
                call.blame(error)
                raise

    def cast(self, send: Callable[[], None]) -> None:
        """Send a message; a bus that does not accept it opens the breaker, a missing server not.

        :raises roost.exception.Away: at once, when the bus is known to be unavailable
        """
        with self.breaker.passing() as call:
            try:
                send()
            except (exception.Unavailable, messaging.MessageDeliveryFailure) as error:
                call.blame(error)
                raise

    def close(self) -> None:
        self.breaker.close()
        self._bus.close()


class _Client:
    """Wraps the bus's client in the breakers of the bus and of hosts."""

    def __init__(self, client: Any, bus: GuardedBus, server: str | None = None) -> None:
        self._client = client
        self._bus = bus
        self._server = server

    def prepare(self, **options: Any) -> "_Client":
        return _Client(self._client.prepare(**options), self._bus, options.get("server"))

    def call(self, context: RequestContext, method: str, **arguments: Any) -> Any:
        with self._bus.waiting(self._server):
            return self._client.call(context, method, **arguments)

    def cast(self, *message: Any, **arguments: Any) -> None:
        self._bus.cast(lambda: self._client.cast(*message, **arguments))


LOG = logging.getLogger(__name__)


class Cell:
    """One cell: its database and its bus. cell0 has a database only.

    ``task_seconds``: the length of the leases that new operations give; None: they give none.

    Database and bus fail independently: see :mod:`roost.circuit_breaker`.
    """

    def __init__(
        self,
        mapping: CellMapping,
        database: Database,
        bus: CellBus | None,
        *,
        limits: CallLimits,
        hosts: HostBreakers | None = None,
        task_seconds: float | None = None,
    ) -> None:
        self.mapping = mapping
        self._task_seconds = task_seconds
        self._rows = _breaker(
            f"the database of the {self}", functools.partial(guarded.ask, database), limits
        )
        self.database = GuardedDatabase(database, self._rows)
        guarded_bus = functools.partial(GuardedBus, f"the bus of the {self}")
        self._bus = None if bus is None else guarded_bus(bus, limits, hosts)

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
        """Whether its database is not known to be unavailable."""
        return not self._rows.is_open

    @property
    def is_unavailable(self) -> bool:
        """Whether its database or bus is known to be unavailable: it gets no new instances."""
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

    def give_lease(self) -> GivenLease | None:
        """Return a lease for the host of a new operation, which begins now."""
        if self._task_seconds is None:
            return None
        now = self.database.now()
        return GivenLease.of(since=now, until=now + datetime.timedelta(seconds=self._task_seconds))

    def probe(self) -> None:
        """Ping database and bus; one that does not answer opens its breaker.

        An open breaker probes by itself.
        """
        for part in (self.database, self._bus):
            if part is not None:
                with contextlib.suppress(exception.Unavailable):
                    part.probe()

    def end_instance(self, context: RequestContext, instance_uuid: str) -> bool:
        """Ask an instance's host to delete it, or delete its row if it has none. Repeatable.

        :returns: False when it was deleted already
        """
        record, operation_uuid = _record(context, instance_uuid, DELETE.action), str(uuid.uuid4())
        begin = functools.partial(deletion.begin, record=record, uuid=operation_uuid)
        try:
            found = self.database.write(begin)
        except exception.NotFound:  # another request may delete it at any moment
            return False
        for operation in found:
            send(self, context, operation)
        return True

    def close(self) -> None:
        self._rows.close()
        self.database.close()
        if self._bus is not None:
            self._bus.close()


def settle_soft_delete(
    cell: Cell, api_database: Database, context: RequestContext, mapping: InstanceMapping
) -> bool:
    """Begin the soft delete or restore that a mapping notes, and notify its host. Repeatable.

    A soft delete that the cell refuses stays noted: the server can only be deleted for good.

    :returns: False when the state of the server does not allow it, or it does not exist
    :raises roost.exception.Unavailable: when the cell cannot be reached
    """
    kind = RESTORE if mapping.put_away_at is None else SOFT_DELETE
    uuid = mapping.operation_uuid
    assert uuid is not None, "callers settle what is noted"
    record = _record(context, mapping.instance_uuid, kind.action)
    begin = functools.partial(operations.start, kind=kind, record=record, uuid=uuid)
    try:
        send(cell, context, cell.database.write(begin))
        begun = True
    except (exception.Conflict, exception.NotFound):
        begun = False
    if begun or kind is RESTORE:
        api_database.write(mappings.settle, uuid)
    return begun


def send(cell: Cell, context: RequestContext, operation: Operation, **parameters: str) -> None:
    """Cast an operation to its host; the cell's sweeper sends a lost message again.

    :param parameters: those that are not in the row
    """
    names = {name: getattr(operation, name) for name in operations.NAMES}
    params = operation.params and operation.params.for_host()
    told = Operation.of(**names, params=params, given=operation.given)
    if operation.migration is not None:
        told.instance, told.migration = operation.instance, operation.migration
        told.obj_reset_changes()
    try:
        cell.compute.on(operation.worker).run(context, operation=told, **parameters)
    except exception.Unavailable as error:
        LOG.warning(
            "[instance: %s] cast of %s to host %s failed, the sweeper resends it: %s",
            operation.instance_uuid, operation.kind, operation.host, error,
        )  # fmt: skip


def _record(context: RequestContext, instance_uuid: str, action: str) -> InstanceAction:
    return InstanceAction(
        instance_uuid=instance_uuid,
        action=action,
        request_id=context.request_id,
        user_id=context.user_id,
        project_id=context.project_id,
        start_time=utcnow(),
        finish_time=None,
        message=None,
        events=[],
    )


def refuse_while_in_use(database: Database, host: str) -> None:
    """Check that a host has no instances.

    :param database: the database of its cell
    :raises roost.exception.Conflict: when it has any
    """
    with database.read() as session:
        used = instances.hosts_in_use(session, [host])
    if used:
        raise exception.Conflict(f"the host {host} still has instances: delete them first")


@retried
def forget_services(cell: Cell, host: str, *, binary: str) -> bool:
    """Delete the services with this binary on a host; return whether there were any."""
    with cell.database.begin() as session:
        found = services.list_services(session, hosts=[host], binary=binary)
        for service in found:
            services.delete(session, service.uuid)
    return bool(found)


@retried
def leave_api_level(database: Database, host: str) -> tuple[list[Aggregate], bool]:
    """Remove the host from its aggregates and delete its mapping, in one transaction.

    :returns: the changed aggregates, and whether the host was mapped
    """
    with database.begin() as session:
        with_host = [one for one in aggregates.list_all(session) if host in one.hosts]
        left = [aggregates.remove_host(session, one.id, host).aggregate for one in with_host]
        return left, cells.unmap_host(session, host)
