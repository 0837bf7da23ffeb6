"""Loads the drivers, filters and weighers that ``[scheduler]`` names."""

from collections.abc import Sequence
from typing import Any, Final

from stevedore import named

from roost import exception
from roost.scheduler.drivers import Driver
from roost.scheduler.filters import AnyFilter
from roost.scheduler.filters.hints import UnreadHints
from roost.scheduler.weighers import Weighing

_ROOM: Final = {"spread": 1.0, "pack": -1.0, "none": 0.0}
# A request of the user counts as much as all free resources of a host.
_REQUESTED: Final = (
    "soft_affinity=3.0",
    "soft_anti_affinity=3.0",
    "locality=3.0",
    "cross_cell_move=3.0",
    "pci=1.0",
    "resource_classes=1.0",
)


def load_driver(options: Any) -> Driver:
    """Make the driver that the options name, with their filters and weighers.

    :param options: the group ``[scheduler]``, or anything with driver, filters and weighers; also
        given to each plug-in that has a class method ``from_options``
    :raises roost.exception.Invalid: naming the option, when one does not exist
    """
    (make,) = _load("driver", "roost.scheduler.drivers", [options.driver])
    filters = load_filters(options)
    driver: Driver = make.from_options(
        options, filters=[UnreadHints(filters), *filters], weighers=load_weighers(options)
    )
    return driver


def load_filters(options: Any) -> list[AnyFilter]:
    """Make the filters that the options name.

    :raises roost.exception.Invalid: when one does not exist, or its options are wrong
    """
    found = _load("filters", "roost.scheduler.filters", options.filters)
    return [_made(make, options) for make in found]


def load_weighers(options: Any) -> list[Weighing]:
    """Make the weighers that the options name, or else those of their profile.

    :raises roost.exception.Invalid: when one does not exist, or its options are wrong
    """
    weights = options.weighers
    if weights is None:
        weights = weighers_of(options.profile)
    split = [_split(weight) for weight in weights]
    found = _load("weighers", "roost.scheduler.weighers", [name for name, _ in split])
    return [
        Weighing(_made(make, options), multiplier)
        for make, (_, multiplier) in zip(found, split, strict=True)
    ]


def weighers_of(profile: str) -> list[str]:
    """Return the weighers of a profile in the option's form: ``name=multiplier``."""
    room = _ROOM[profile]
    return [*(f"{each}={room}" for each in ("ram", "cpu", "disk") if room), *_REQUESTED]


def _made(make: Any, options: Any) -> Any:
    return make.from_options(options) if hasattr(make, "from_options") else make()


def _split(weight: str) -> tuple[str, float]:
    name, _, multiplier = weight.partition("=")
    try:
        return name.strip(), float(multiplier or 1.0)
    except ValueError as error:
        raise exception.Invalid(
            f"[scheduler] weighers: {weight!r} must be a name, =, and a number, such as ram=1.0"
        ) from error


def _load(option: str, namespace: str, names: Sequence[str]) -> list[Any]:
    """Load the named plug-ins, in order; no others are imported."""
    points = named.NamedExtensionManager(namespace, names=[]).list_entry_points()
    known = {point.name: point for point in points}
    missing = [name for name in names if name not in known]
    if missing:
        raise exception.Invalid(
            f"[scheduler] {option}: there is no {', '.join(missing)};"
            f" there are {', '.join(sorted(known)) or 'none, for Roost is not installed'}"
        )
    return [known[name].load() for name in names]
