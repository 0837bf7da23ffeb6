"""What all parts of a deployment say at one moment, of all instances or of some."""

import dataclasses
import datetime
from typing import Final, Protocol

from roost.audit.claims import Ledger
from roost.outside.leftover_ports import ServerPort

_LONG_AGO: Final = datetime.datetime.min.replace(tzinfo=datetime.UTC)


class Mapped(Protocol):
    """Where an instance is said to be; None: nowhere yet.

    ``put_away``: its user has deleted it and can restore it; ``unheard``: its cell may not know.
    ``turns``: how often that has changed.
    """

    @property
    def cell_uuid(self) -> str | None: ...

    @property
    def queued_for_delete(self) -> bool: ...

    @property
    def put_away(self) -> bool: ...

    @property
    def unheard(self) -> bool: ...

    @property
    def locked(self) -> bool: ...

    @property
    def turns(self) -> int: ...


@dataclasses.dataclass(frozen=True)
class LiveInstance:
    """An instance that is not buried, as its cell knows it.

    ``turns``: the latest of which it has heard, of those in which it is put away and restored.
    """

    uuid: str
    cell_uuid: str
    host: str | None
    vm_state: str
    task_state: str | None
    locked: bool = False
    turns: int = 0
    attempt: int = 1


@dataclasses.dataclass
class Snapshot:
    """What everybody says.

    ``wishes`` are build requests, with the time they were made, and ``now`` is when the API
    database was read, by the same clock, its own; ``guests`` uuids by (cell uuid, host); ``claims``
    hosts by instance (None: the schedulers could not be asked), and ``ledger`` what else they say
    of claims. ``outside_ports`` are Neutron's by id, and ``buried`` those of their instances that a
    cell knows to be no more. Of ``unknown_cells`` the database could not be read, so that nothing
    can be said about them.
    """

    instances: list[LiveInstance] = dataclasses.field(default_factory=list)
    mappings: dict[str, Mapped] = dataclasses.field(default_factory=dict)
    wishes: dict[str, datetime.datetime] = dataclasses.field(default_factory=dict)
    now: datetime.datetime = _LONG_AGO
    claims: dict[str, str] | None = None
    ledger: Ledger = dataclasses.field(default_factory=Ledger)
    guests: dict[tuple[str, str], set[str]] = dataclasses.field(default_factory=dict)
    orphaned_ports: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    outside_ports: dict[str, ServerPort] = dataclasses.field(default_factory=dict)
    buried: set[str] = dataclasses.field(default_factory=set)
    quota_used: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    quota_counted: dict[str, dict[str, int]] = dataclasses.field(default_factory=dict)
    unknown_cells: set[str] = dataclasses.field(default_factory=set)
    unchecked: list[str] = dataclasses.field(default_factory=list)
