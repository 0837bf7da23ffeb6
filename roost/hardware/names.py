"""The known names of extra specs and image properties, and the outcome of unsupported ones.

Hosts or the scheduler read most names, or they are for people only. Unsupported names are ignored:
images and flavors of other clouds have many of them, and must boot all the same. Some names are
refused, since ignoring them would do harm: a user who requests an encrypted disk must not get an
unencrypted one. A name leaves that table when something reads it; values that request nothing
(``no``, ``0``) are accepted.

Since microversion 2.86 the API checks all of this when extra specs are written. Scopes that are
not named here belong to operators and their own filters.
"""

import difflib
import functools
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple, TypeVar

import os_resource_classes

from roost import exception
from roost.hardware import resource_groups, values
from roost.objects.bounds import MOST
from roost.objects.flavor import Flavor, ImageMeta
from roost.objects.inventory import HOST_CLASSES

LOG = logging.getLogger(__name__)
_Check = Callable[[str], bool]
_Kind = TypeVar("_Kind")
_GROUP: Final = f"({resource_groups.SUFFIX})?"
_CLASSES: Final = "|".join((*os_resource_classes.STANDARDS, "CUSTOM_[A-Z0-9_]{1,248}"))
_BYTES: Final = r"(small|large|any|[0-9]+([kKMGT]i?)?(b|bit|B)?)"
_CPUS: Final = r"\^?[0-9]+(-[0-9]+)?(,\^?[0-9]+(-[0-9]+)?)*"
_TRUTH_TEXTS: Final = {"1", "t", "true", "on", "y", "yes", "0", "f", "false", "off", "n", "no"}
_DIGITS: Final = 18


def _truth(value: str) -> bool:
    return value.strip().lower() in _TRUTH_TEXTS


def _like(pattern: str) -> _Check:
    compiled = re.compile(pattern, re.ASCII)
    return lambda value: compiled.fullmatch(value.strip()) is not None


def _one_of(*allowed: str) -> _Check:
    return lambda value: value in allowed


def _number(least: int, most: int = 10**18) -> _Check:
    def check(value: str) -> bool:
        text = value.strip()
        if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
            return False
        return least <= int(text) <= most

    return check


_ANY: Final = _like(r"[\s\S]*")
_SOME, _ONE_OR_MORE = _number(0), _number(1)
# The names that hosts read.
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


# pattern of the name after the scope -> check of its values
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
# pattern of the scope -> the names in it
_SCOPES: Final[Mapping[str, Mapping[str, _Check]]] = {
    "hw": _HW,
    **{scope: _read_by_hosts(scope) for scope in ("hw_rng", "hw_video", "os")},
    "quota": _QUOTA,
    f"resources{_GROUP}": {"[A-Z0-9_]+": _number(0, MOST)},
    f"trait{_GROUP}": {"[A-Z0-9_]+": _one_of("required", "forbidden")},
    "accel": {"device_profile": _like(".+")},
    "pci_passthrough": {"alias": _like(r"[^:,]+:[0-9]+(\s*,\s*[^:,]+:[0-9]+)*")},
    "aggregate_instance_extra_specs": {".+": _ANY},
    "capabilities": {".+": _ANY},
}
_SCOPELESS: Final = {
    resource_groups.POLICY: _one_of(*resource_groups.POLICIES),
    resource_groups.SAME_SUBTREE: _like(
        rf"\s*{resource_groups.SUFFIX}(\s*,\s*{resource_groups.SUFFIX})*\s*"
    ),
}


class Fate(NamedTuple):
    """The outcome of an unsupported name: :data:`IGNORED` or :data:`REFUSED`, and why."""

    outcome: str
    why: str


IGNORED: Final = "ignored"
REFUSED: Final = "refused"
_NOTHING: Final = ("", "0", "[]", "f", "false", "n", "no", "off")
# Pattern of names -> their outcome, why, and what to do instead. The first match counts.
_FATES: Final[Mapping[str, Fate]] = {
    "accel:.*": Fate(
        REFUSED, "there are no accelerators; request host devices by pci_passthrough:alias"
    ),
    "hw[:_]cpu_realtime": Fate(REFUSED, "real-time CPUs are not supported"),
    "hw[:_]cpu_realtime_mask": Fate(IGNORED, "real-time CPUs are not supported"),
    "hw[:_]ephemeral_encryption": Fate(REFUSED, "disks cannot be encrypted"),
    "hw[:_]mem_encryption": Fate(REFUSED, "the memory of guests cannot be encrypted"),
    "hw[:_](ephemeral|mem)_encryption_.*": Fate(IGNORED, "nothing is encrypted"),
    "hw:pmem": Fate(REFUSED, "there is no persistent memory"),
    "hw[:_]tpm_secret_security": Fate(
        REFUSED, "the data of TPMs is not encrypted, so it has no secret"
    ),
    "hw_firmware_stateless": Fate(IGNORED, "the variables of UEFI are always kept"),
    "hw_floppy_bus": Fate(IGNORED, "guests have no floppies"),
    "quota:(cpu|memory|disk_io|vif)_(limit|reservation|shares_share|shares_level)": Fate(
        IGNORED,
        "it is for other hypervisors; use quota:cpu_..., quota:disk_... and quota:vif_...",
    ),
    f"resources{_GROUP}:(?!({_CLASSES})$).*": Fate(
        REFUSED, "there is no such resource class; custom ones are resources:CUSTOM_..."
    ),
    f"resources{resource_groups.SUFFIX}:({'|'.join(HOST_CLASSES)})": Fate(
        REFUSED, "it is a size of the whole server: use the name without the number"
    ),
    "(img_)?block_device_mapping": Fate(REFUSED, "there are no volumes to boot from"),
    "(img_)?mappings": Fate(
        IGNORED, "the disks of a server are those of its flavor and of the request"
    ),
    "(img_)?root_device_name": Fate(
        IGNORED, "the names of disks follow from their bus: set hw_disk_bus"
    ),
}


def check_written(specs: Mapping[str, str]) -> None:
    """Make sure that extra specs of known scopes are known, valid and supported.

    :raises roost.exception.Invalid: naming the first that is not
    """
    for name, value in specs.items():
        unknown = _unknown(name)
        if unknown is not None:
            raise exception.Invalid(f"Validation failed; extra spec '{name}' {unknown}")
        check = _first(*_in_scope(name)) or _SCOPELESS.get(name)
        if check is not None and not check(value):
            raise exception.Invalid(
                f"Validation failed; '{value}' is not a possible value of extra spec '{name}'."
            )
    for name, value, found in fates(specs):
        raise _refusal(name, value, found)


def check(flavor: Flavor, image: ImageMeta | None) -> None:
    """Make sure that a flavor and an image request nothing that is refused.

    :raises roost.exception.Invalid: naming the property, why it is refused, and what to do
    """
    _check(flavor.extra_specs, f" Choose another flavor, or have it removed from {flavor.name}.")
    if image is not None:
        check_image(image)


def check_image(image: ImageMeta, *, before: ImageMeta | None = None) -> None:
    """Make sure that an image requests nothing that is refused.

    :param before: the image that the server has: properties equal to its own are not checked
    """
    had = before.properties.items() if before is not None else ()
    said = {name: value for name, value in image.properties.items() if (name, value) not in had}
    instead = f" Choose another image, or have it removed from {image.id}."
    _check(said, instead, of_flavor=False)


def fates(said: Mapping[str, str], *, of_flavor: bool = True) -> Iterator[tuple[str, str, Fate]]:
    """Yield the unsupported names of a flavor or an image, with value and outcome."""
    for name, value in said.items():
        if (":" in name) == of_flavor and value.strip().lower() not in _NOTHING:
            found = fate(name)
            if found is not None:
                yield name, value, found


@functools.lru_cache(maxsize=4096)
def fate(name: str) -> Fate | None:
    """Return the outcome of an unsupported name; None: it may be supported."""
    found, unknown = _first(_FATES, name), _unknown(name)
    return found or (None if unknown is None else Fate(IGNORED, f"it {unknown}"))


def _check(said: Mapping[str, str], instead: str, *, of_flavor: bool = True) -> None:
    for name, value, found in fates(said, of_flavor=of_flavor):
        if found.outcome == REFUSED:
            raise _refusal(name, value, found, instead)
        _warn(name, found)


def _refusal(name: str, value: str, found: Fate, instead: str = "") -> exception.Invalid:
    return exception.Invalid(
        f"{_what(name)} '{name}' ('{value}') is not supported: {found.why}.{instead}"
    )


@functools.lru_cache(maxsize=4096)
def _warn(name: str, found: Fate) -> None:
    """Warn once per name that it is ignored."""
    LOG.warning("%s '%s' is ignored: %s", _what(name), name, found.why)


def _what(name: str) -> str:
    return "Extra spec" if ":" in name else "Image property"


# Scopes


def _unknown(name: str) -> str | None:
    """Return why there is no such extra spec; None: there is one, or its scope is unknown."""
    scope, rest = _in_scope(name)
    if _first(scope, rest) is not None or not scope:
        return None
    alike = difflib.get_close_matches(rest, scope, n=1)
    hint = f" Did you mean {name.removesuffix(rest)}{alike[0]}?" if alike else ""
    return f"does not appear to be a valid extra spec.{hint}"


def _in_scope(name: str) -> tuple[Mapping[str, _Check], str]:
    """Return the names in the scope of a name (empty: unknown), and the name without its scope."""
    scope, colon, rest = name.partition(":")
    return (_first(_SCOPES, scope) if colon else None) or {}, rest


def _first(table: Mapping[str, _Kind], text: str) -> _Kind | None:
    """Return the value of the first pattern that matches all of ``text``."""
    found = (value for pattern, value in table.items() if re.fullmatch(pattern, text, re.ASCII))
    return next(found, None)
