"""Finds drivers, filters and weighers by the names that ``[scheduler]`` gives them."""

from collections.abc import Sequence
from typing import Any

from stevedore import named

from roost import exception
from roost.scheduler.drivers import Driver
from roost.scheduler.filters import Filter
from roost.scheduler.weighers import Weighing


def load_driver(options: Any) -> Driver:
    """Make the driver that the options name, with their filters and weighers.

    :param options: the group ``[scheduler]``, or anything with driver, filters and weighers
    :raises roost.exception.Invalid: naming the option, when something of that name does not exist
    """
    (make,) = _load("driver", "roost.scheduler.drivers", [options.driver])
    driver: Driver = make(
        filters=load_filters(options.filters), weighers=load_weighers(options.weighers)
    )
    return driver


def load_filters(names: Sequence[str]) -> list[Filter]:
    return [make() for make in _load("filters", "roost.scheduler.filters", names)]


def load_weighers(weights: Sequence[str]) -> list[Weighing]:
    """Make weighers of ``name=multiplier``; a name alone counts once."""
    split = [_split(weight) for weight in weights]
    found = _load("weighers", "roost.scheduler.weighers", [name for name, _ in split])
    return [
        Weighing(make(), multiplier) for make, (_, multiplier) in zip(found, split, strict=True)
    ]


def _split(weight: str) -> tuple[str, float]:
    name, _, multiplier = weight.partition("=")
    try:
        return name.strip(), float(multiplier or 1.0)
    except ValueError as error:
        raise exception.Invalid(
            f"[scheduler] weighers: {weight!r} must be a name, =, and a number, such as ram=1.0"
        ) from error


def _load(option: str, namespace: str, names: Sequence[str]) -> list[Any]:
    """Return what the names stand for, in their order; nothing else is imported."""
    points = named.NamedExtensionManager(namespace, names=[]).list_entry_points()
    known = {point.name: point for point in points}
    missing = [name for name in names if name not in known]
    if missing:
        raise exception.Invalid(
            f"[scheduler] {option}: there is no {', '.join(missing)};"
            f" there are {', '.join(sorted(known)) or 'none, for Roost is not installed'}"
        )
    return [known[name].load() for name in names]
