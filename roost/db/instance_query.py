"""Filters and order of lists of instances, for rows of a cell and for build requests."""

import dataclasses
import datetime
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from roost.db.ordering import Sort
from roost.db.patterns import Pattern
from roost.objects import Instance

NEWEST_FIRST: Final = (Sort("created_at", descending=True), Sort("uuid", descending=True))
SORT_KEYS: Final = (
    "access_ip_v4",
    "access_ip_v6",
    "availability_zone",
    "config_drive",
    "created_at",
    "deleted_at",
    "disk_config",
    "display_description",
    "display_name",
    "flavor_id",
    "host",
    "hostname",
    "image_id",
    "key_name",
    "launch_index",
    "launched_at",
    "locked",
    "locked_by",
    "node",
    "power_state",
    "project_id",
    "root_device_name",
    "task_state",
    "updated_at",
    "user_id",
    "uuid",
    "vm_state",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wanted:
    """Filters, all of which must hold, and an order that ends with ``uuid``.

    :param equal: column -> values, one of which it must have
    :param like: column -> pattern that it must fit
    :param between: column -> the earliest time that matches, and the latest
    :param addresses: 4 or 6 -> pattern that an address of that version must fit
    :param states: (vm state, task state) pairs, one of which must hold
    :param deleted: whether marked as deleted; None: either
    :param put_away: whether soft-deleted; None: either
    :param changed_since: when it was last changed, or else created, at the earliest
    :param changed_before: the same, at the latest
    :param with_user_data: whether to read the user data, which may be large
    :param names_only: whether to read no more than :class:`NamedInstance` has
    :param tags: groups of tags; of each group at least one tag must be present
    :param not_tags: groups of tags; of each group at least one tag must be missing
    """

    equal: Mapping[str, Sequence[Any]] = dataclasses.field(default_factory=dict)
    like: Mapping[str, Pattern] = dataclasses.field(default_factory=dict)
    between: Mapping[str, tuple[datetime.datetime, datetime.datetime]] = dataclasses.field(
        default_factory=dict
    )
    addresses: Mapping[int, Pattern] = dataclasses.field(default_factory=dict)
    states: Sequence[tuple[str, str | None]] | None = None
    deleted: bool | None = False
    put_away: bool | None = None
    changed_since: datetime.datetime | None = None
    changed_before: datetime.datetime | None = None
    tags: Sequence[Sequence[str]] = ()
    not_tags: Sequence[Sequence[str]] = ()
    with_user_data: bool = False
    names_only: bool = False
    order: Sequence[Sort] = NEWEST_FIRST

    @property
    def is_exact(self) -> bool:
        """Whether SQL alone can decide the filters."""
        return all(each.is_exact for each in (*self.like.values(), *self.addresses.values()))


class NamedInstance(NamedTuple):
    """What plain lists show of an instance, and its state."""

    uuid: str
    display_name: str
    vm_state: str


@dataclasses.dataclass(frozen=True)
class ListedInstance:
    """A listed instance; ``values`` are those of the order's columns, by which lists are merged.

    To make the object costs more than to read its row, and a merge drops many rows: so ``load``
    makes it when it is needed.
    """

    uuid: str
    values: Sequence[Any]
    load: Callable[[], Instance | NamedInstance]


def value_of(instance: Instance, column: str) -> Any:
    """Return what an instance's row has in a column."""
    special = _SPECIAL.get(column)
    return getattr(instance, column) if special is None else special(instance)


def values_of(instance: Instance, order: Sequence[Sort]) -> list[Any]:
    """Return what an instance's row has in the columns of an order."""
    return [value_of(instance, sort.name) for sort in order]


def matches(instance: Instance, wanted: Wanted) -> bool:
    """Return whether an instance of a build request passes the filters."""
    changed = instance.updated_at or instance.created_at
    has = set(instance.tags)
    return (
        not wanted.deleted
        and not wanted.put_away
        and not wanted.addresses  # it has none before it has a row
        and all(_is_between(value_of(instance, n), *span) for n, span in wanted.between.items())
        and all(value_of(instance, name) in given for name, given in wanted.equal.items())
        and all(p.fits(value_of(instance, name)) for name, p in wanted.like.items())
        and (wanted.states is None or (instance.vm_state, instance.task_state) in wanted.states)
        and (wanted.changed_since is None or changed >= wanted.changed_since)
        and (wanted.changed_before is None or changed <= wanted.changed_before)
        and all(has.intersection(group) for group in wanted.tags)
        and all(not has.issuperset(group) for group in wanted.not_tags)
    )


def _is_between(
    moment: datetime.datetime | None, first: datetime.datetime, last: datetime.datetime
) -> bool:
    return moment is not None and first <= moment <= last


_SPECIAL: Final[Mapping[str, Callable[[Instance], Any]]] = {
    "image_id": lambda instance: instance.image.id if instance.image else None,
    "flavor_id": lambda instance: instance.flavor.flavorid,
}
