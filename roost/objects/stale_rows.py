"""What a row that is older than its guest is to learn from it: its database was put back.

Hosts ask this of their guests, and ``roost-manage cell after-restore`` of all guests of a cell.

A guest notes the attempt that made it, and that it was announced. A rebuild is another attempt,
which the row knows first. So a row of an earlier attempt than its announced guest is an old copy.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Protocol, Self

from roost import states
from roost.objects import ImageMeta


class InstanceRow(Protocol):
    """An instance that lives, as its cell has it."""

    @property
    def attempt(self) -> int: ...

    @property
    def vm_state(self) -> str | None: ...

    @property
    def task_state(self) -> str | None: ...


class DescribedGuest(Protocol):
    """A guest as its host describes it, see :class:`roost.compute.virt.driver.Guest`."""

    @property
    def power_state(self) -> int: ...

    @property
    def attempt(self) -> int | None: ...

    @property
    def rescued(self) -> bool: ...

    @property
    def announced(self) -> bool: ...

    @property
    def image(self) -> str | None: ...


@dataclasses.dataclass(frozen=True)
class ReportedGuests:
    """A guest in a message of its host, which says less if it is of an earlier release."""

    power_state: int
    attempt: int | None
    rescued: bool
    announced: bool
    image: str | None = None

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> Self:
        names = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in said.items() if name in names})


def is_old(row: InstanceRow, guest: DescribedGuest) -> bool:
    """Tell whether a guest proves that its row is an old copy.

    A row that is to be rebuilt has the attempt that is to come: no guest of it was announced yet.
    """
    known = row.attempt - (row.task_state in states.REBUILD_TASKS)
    return guest.announced and (guest.attempt or 0) > known


def origin(guest: DescribedGuest) -> dict[str, Any]:
    """Return what a row is to know of how its guest was made, as far as the guest remembers it."""
    known: dict[str, Any] = {} if guest.attempt is None else {"attempt": guest.attempt}
    if guest.image is not None:
        known["image"] = ImageMeta.from_note(guest.image)
    return known


def lacking(row: InstanceRow, guest: DescribedGuest, *, restored: bool = False) -> dict[str, Any]:
    """Return what a row lacks that was put back, while no conductor changes rows; {}: nothing.

    It follows its guest, whatever it says itself. What was being made of it is over.

    :param restored: its user has taken it back since, if the row says that it is put away
    """
    if not guest.announced or row.task_state == states.DELETING:
        return {}
    is_over, old = _is_over(row, guest), is_old(row, guest)
    changes = origin(guest) if is_over or old else {}
    found = states.as_found(guest.power_state, rescued=guest.rescued)
    if is_over:
        return {**changes, "vm_state": found or states.ACTIVE, "task_state": None}
    if _follows(row, old=old, restored=restored) and found not in (None, row.vm_state):
        changes["vm_state"] = found
    return changes


def _is_over(row: InstanceRow, guest: DescribedGuest) -> bool:
    """Tell whether what is being made by its row is that very guest, or an earlier one."""
    building = row.vm_state == states.BUILDING
    return building or (row.task_state in states.REBUILD_TASKS and is_old(row, guest))


def _follows(row: InstanceRow, *, old: bool, restored: bool) -> bool:
    """Tell whether a row rests as its guest does: one in ERROR only after a later rebuild."""
    kept = {states.ERROR: old, states.SOFT_DELETED: restored}
    follows = kept.get(row.vm_state or "", row.vm_state in states.WITH_GUEST)
    return row.task_state is None and follows
