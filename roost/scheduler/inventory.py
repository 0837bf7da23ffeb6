"""What hosts have of resource classes, as their rows say: what is used does not matter here."""

import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

from roost.hardware.providers import FreeProvider, Stock
from roost.objects.bounds import is_number
from roost.objects.inventory import LARGEST, capacity, orphans_among


class ClassInventory(NamedTuple):
    """What a host, or a part of it, has of one class; ``net`` is without the reserved amount.

    One instance gets from ``least`` to ``most``, in steps.
    """

    net: int
    ratio: float
    least: int
    most: int
    step: int

    @classmethod
    def of(cls, stored: Sequence[Any]) -> Self:
        """Make it of the values in a row.

        :raises ValueError: when they cannot be counted
        """
        total, reserved, least, most, step, ratio = stored
        if not all(map(_is_countable, stored[:-1])) or step < 1:
            raise ValueError(f"such amounts cannot be counted: {stored[:-1]}")
        if not (is_number(ratio) and ratio > 0):
            raise ValueError(f"{ratio} is no allocation ratio")
        return cls(max(0, total - reserved), ratio, least, most, step)

    @property
    def capacity(self) -> int:
        return capacity(self.net, self.ratio)

    def stock(self, free: int) -> Stock:
        return Stock(free, self.least, self.most, self.step)


def _is_countable(amount: Any) -> bool:
    return isinstance(amount, int) and 0 <= amount <= LARGEST


@dataclasses.dataclass(frozen=True)
class HostInventory:
    """What a host has as a whole, by class, and its parts, all of them free.

    Those of many hosts are equal: they are compared by their ``text`` in the rows.
    """

    text: str
    classes: Mapping[str, ClassInventory] = dataclasses.field(compare=False)
    parts: tuple[FreeProvider, ...] = dataclasses.field(compare=False)

    @classmethod
    @functools.lru_cache(maxsize=1024)
    def parse(cls, text: str) -> "HostInventory":
        """Read what :mod:`roost.db.scheduler.reports` has written.

        :raises Exception: when it cannot be read, or not compared with others
        """
        found = [
            (name, parent, traits, {each: ClassInventory.of(of) for each, of in classes.items()})
            for name, parent, _, traits, classes in json.loads(text)
        ]
        parts = [
            FreeProvider(
                name,
                frozenset(traits),
                {each: one.stock(one.capacity) for each, one in classes.items()},
                parent,
            )
            for name, parent, traits, classes in found
            if name
        ]
        if len({each.name for each in parts}) < len(parts) or orphans_among(parts):
            raise ValueError("two parts have one name, or the parent of one is not known")
        own = next((classes for name, _, _, classes in found if not name), {})
        return cls(text, own, tuple(parts))

    def allows(self, resource_class: str, amount: int) -> bool:
        """Return whether one instance may have so much of the host, if it is free."""
        one = self.classes.get(resource_class)
        return one is None or one.stock(amount).allows(amount)
