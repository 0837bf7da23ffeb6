"""Which extra specs there are: since 2.86 those of known scopes must be known, and have sense.

Scopes that are not named here belong to operators, and mean what their own filters make of them.
"""

import difflib
import functools
import re
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from roost import exception
from roost.hardware import values
from roost.objects import Flavor

_Check = Callable[[str], bool]
_Kind = TypeVar("_Kind")
_GROUP: Final = "([a-zA-Z0-9_-]{1,64})?"
_BYTES: Final = r"(small|large|any|[0-9]+([kKMGT]i?)?(b|bit|B)?)"
_CPUS: Final = r"\^?[0-9]+(-[0-9]+)?(,\^?[0-9]+(-[0-9]+)?)*"
_WORDS: Final = {"1", "t", "true", "on", "y", "yes", "0", "f", "false", "off", "n", "no"}
_DIGITS: Final = 18


def _truth(value: str) -> bool:
    return value.strip().lower() in _WORDS


def _like(pattern: str) -> _Check:
    compiled = re.compile(pattern, re.ASCII)
    return lambda value: compiled.fullmatch(value.strip()) is not None


def _one_of(*words: str) -> _Check:
    return lambda value: value in words


def _number(least: int, most: int = 10**18) -> _Check:
    def check(value: str) -> bool:
        text = value.strip()
        if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
            return False
        return least <= int(text) <= most

    return check


_ANY: Final = _like(r"[\s\S]*")
_SOME, _ONE_OR_MORE = _number(0), _number(1)
# What hosts read by themselves.
_OF_HOSTS: Final[Mapping[str, _Check]] = {
    **{name: _one_of(*allowed) for name, allowed in values.CHOICES.items()},
    **dict.fromkeys(values.TRUTHS, _truth),
    **{name: _number(*limits) for name, limits in values.NUMBERS.items()},
}


def _read_by_hosts(scope: str) -> dict[str, _Check]:
    return {
        re.escape(name.removeprefix(f"{scope}:")): check
        for name, check in _OF_HOSTS.items()
        if name.startswith(f"{scope}:")
    }


# a pattern of what follows the scope -> what its values must be
_HW: Final[Mapping[str, _Check]] = {
    **_read_by_hosts("hw"),
    "(cpu_realtime|ephemeral_encryption|mem_encryption)": _truth,
    "cpu_policy": _one_of("dedicated", "shared", "mixed"),
    "cpu_thread_policy": _one_of("prefer", "isolate", "require"),
    "(cpu_dedicated_mask|cpu_realtime_mask)": _like(_CPUS),
    "emulator_threads_policy": _one_of("isolate", "share"),
    "(ephemeral_encryption_format|mem_encryption_model|pmem)": _like(".+"),
    "mem_page_size": _like(_BYTES),
    r"numa_cpus\.[0-9]+": _like(_CPUS),
    r"numa_mem\.[0-9]+": _ONE_OR_MORE,
    "numa_nodes": _ONE_OR_MORE,
    "pci_numa_affinity_policy": _one_of("required", "preferred", "legacy", "socket"),
    "tpm_secret_security": _one_of("user", "host", "deployment"),
}
_QUOTA: Final[Mapping[str, _Check]] = {
    **_read_by_hosts("quota"),
    "(cpu|memory|disk_io|vif)_(limit|reservation|shares_share)": _SOME,
    "(cpu|memory|disk_io|vif)_shares_level": _one_of("custom", "high", "normal", "low"),
}
# a pattern of the scope -> what there is in it
_SCOPES: Final[Mapping[str, Mapping[str, _Check]]] = {
    "hw": _HW,
    **{scope: _read_by_hosts(scope) for scope in ("hw_rng", "hw_video", "os")},
    "quota": _QUOTA,
    f"resources{_GROUP}": {"[A-Z0-9_]+": _SOME},
    f"trait{_GROUP}": {"[A-Z0-9_]+": _one_of("required", "forbidden")},
    "accel": {"device_profile": _like(".+")},
    "pci_passthrough": {"alias": _like(r"[^:,]+:[0-9]+(\s*,\s*[^:,]+:[0-9]+)*")},
    "aggregate_instance_extra_specs": {".+": _ANY},
    "capabilities": {".+": _ANY},
}


def check(specs: Mapping[str, str]) -> None:
    """Make sure that extra specs of known scopes are known, their values possible, and done here.

    :raises roost.exception.Invalid: naming the first that is not
    """
    for name, value in specs.items():
        is_possible = _check_of(name)
        if is_possible is not None and not is_possible(value):
            raise exception.Invalid(
                f"Validation failed; '{value}' is not a possible value of extra spec '{name}'."
            )
    values.check_specs(specs)


def check_names(flavor: Flavor) -> None:
    """Make sure that the extra specs of a flavor are known; who reads them judges their values.

    :raises roost.exception.Invalid: naming the first that is not, and what to do
    """
    for name in flavor.extra_specs:
        try:
            _check_of(name)
        except exception.Invalid as error:
            raise exception.Invalid(
                f"{error.message} Choose another flavor, or have it removed from {flavor.name}."
            ) from error


@functools.lru_cache(maxsize=4096)
def _check_of(name: str) -> _Check | None:
    """Return the check of an extra spec's values; None: its scope is not known, so it may be.

    :raises roost.exception.Invalid: when it is not one of its scope
    """
    scope, colon, rest = name.partition(":")
    known = _first(_SCOPES, scope) if colon else None
    found = None if known is None else _first(known, rest)
    if known is not None and found is None:
        alike = difflib.get_close_matches(rest, known, n=1)
        hint = f" Did you mean {scope}:{alike[0]}?" if alike else ""
        raise exception.Invalid(
            f"Validation failed; extra spec '{name}' does not appear to be a valid extra spec."
            + hint
        )
    return found


def _first(table: Mapping[str, _Kind], text: str) -> _Kind | None:
    """Return what stands under the first pattern that is all of ``text``."""
    found = (value for pattern, value in table.items() if re.fullmatch(pattern, text, re.ASCII))
    return next(found, None)
