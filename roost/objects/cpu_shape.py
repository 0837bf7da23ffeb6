"""How a guest's CPUs are seen: the shape that comes nearest to what flavor and image ask for."""

from collections.abc import Iterator, Mapping
from typing import Final

from roost import exception
from roost.objects.hardware_values import counted
from roost.objects.hardware_words import HardwareWords

_LEVELS: Final = ("sockets", "cores", "threads")


def shape_of(words: HardwareWords) -> tuple[int, int, int] | None:
    """Return how many sockets, of how many cores, of how many threads; None: nobody asks.

    An image's wishes count before those of its flavor, within what the flavor allows at most.

    :raises roost.exception.Invalid: for numbers that cannot be, or come to none
    """
    wishes = _wishes(words, "image") or _wishes(words, "flavor")
    most = _limits(words)
    if not wishes and not most:
        return None
    fitting = [shape for shape in _shapes(words.vcpus) if _is_within(shape, most)]
    if not fitting:
        limits = ", ".join(f"hw:cpu_max_{name}={limit}" for name, limit in most.items())
        raise exception.Invalid(f"{words.vcpus} CPUs cannot be had with {limits}.")
    return max(fitting, key=lambda shape: _nearness(shape, wishes))


def _wishes(words: HardwareWords, who: str) -> dict[str, int]:
    """Return the shape that somebody would like, as far as he says."""
    return _numbers(words, who, "cpu_")


def _limits(words: HardwareWords) -> dict[str, int]:
    """Return the most of each that may be; what an image says must be within its flavor's."""
    flavor, image = _numbers(words, "flavor", "cpu_max_"), _numbers(words, "image", "cpu_max_")
    _check_within("hw_cpu_max_", image, flavor)
    limits = flavor | image
    _check_within("hw_cpu_", _wishes(words, "image"), limits)
    return limits


def _check_within(prefix: str, asked: Mapping[str, int], most: Mapping[str, int]) -> None:
    for name, many in asked.items():
        if many > most.get(name, many):
            limit = most[name]
            raise exception.Invalid(f"{prefix}{name} is '{many}', but may be {limit} at most.")


def _numbers(words: HardwareWords, who: str, prefix: str) -> dict[str, int]:
    start = "hw:" if who == "flavor" else "hw_"
    said = {name: counted(words, f"{start}{prefix}{name}") for name in _LEVELS}
    return {name: many for name, many in said.items() if many is not None}


def _shapes(vcpus: int) -> Iterator[tuple[int, int, int]]:
    """Yield all, those of most sockets and then cores first."""
    for threads in _divisors(vcpus):
        for cores in _divisors(vcpus // threads):
            yield vcpus // (threads * cores), cores, threads


def _divisors(number: int) -> list[int]:
    small = [one for one in range(1, int(number**0.5) + 1) if number % one == 0]
    return sorted({*small, *(number // one for one in small)})


def _is_within(shape: tuple[int, ...], most: Mapping[str, int]) -> bool:
    return all(many <= most.get(name, many) for name, many in zip(_LEVELS, shape, strict=True))


def _nearness(shape: tuple[int, ...], wishes: Mapping[str, int]) -> int:
    """Count the wishes that are met."""
    return sum(wishes.get(name) == many for name, many in zip(_LEVELS, shape, strict=True))
