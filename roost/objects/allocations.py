"""Allocations: the amounts that a consumer has of a host, by provider and resource class.

The name of the host itself, as a provider, is empty. They are plain values, in rows and messages,
and have no amounts of 0, so that equal ones are equal as values.
"""

from collections.abc import Iterable, Mapping
from typing import Final

Amounts = Mapping[str, int]
"""Amounts by resource class."""
Allocations = Mapping[str, Amounts]
NOTHING: Final[Allocations] = {}


def of_host(amounts: Amounts) -> Allocations:
    """Return the allocations that have these amounts of the host itself."""
    kept = {name: amount for name, amount in amounts.items() if amount}
    return {"": kept} if kept else {}


def plus(one: Allocations, other: Allocations, *, sign: int = 1) -> dict[str, dict[str, int]]:
    """Return the sum of two; ``sign`` -1: the difference."""
    sums = {provider: dict(amounts) for provider, amounts in one.items()}
    for provider, amounts in other.items():
        sum_of = sums.setdefault(provider, {})
        for name, amount in amounts.items():
            sum_of[name] = sum_of.get(name, 0) + sign * amount
            if not sum_of[name]:
                del sum_of[name]
        if not sum_of:
            del sums[provider]
    return sums


def total(amounts: Iterable[Amounts]) -> dict[str, int]:
    """Return the sums by resource class."""
    sums: dict[str, int] = {}
    for each in amounts:
        for name, amount in each.items():
            sums[name] = sums.get(name, 0) + amount
    return sums
