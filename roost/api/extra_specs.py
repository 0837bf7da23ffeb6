"""Which extra specs there are: since 2.86 those of known scopes must be known, and have sense.

Scopes that are not named here belong to operators, and mean what their own filters make of them.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from roost import exception

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


def _number(least: int) -> _Check:
    def check(value: str) -> bool:
        text = value.strip()
        return text.isascii() and text.isdigit() and len(text) <= _DIGITS and int(text) >= least

    return check


_ANY: Final = _like(r"[\s\S]*")
_SOME, _ONE_OR_MORE = _number(0), _number(1)
# a pattern of what follows the scope -> what its values must be
_HW: Final[Mapping[str, _Check]] = {
    "(boot_menu|cpu_realtime|ephemeral_encryption|hide_hypervisor_id|locked_memory)": _truth,
    "(mem_encryption|vif_multiqueue_enabled|virtio_packed_ring)": _truth,
    "cpu_(max_)?(sockets|cores|threads)": _ONE_OR_MORE,
    "cpu_policy": _one_of("dedicated", "shared", "mixed"),
    "cpu_thread_policy": _one_of("prefer", "isolate", "require"),
    "(cpu_dedicated_mask|cpu_realtime_mask)": _like(_CPUS),
    "emulator_threads_policy": _one_of("isolate", "share"),
    "(ephemeral_encryption_format|mem_encryption_model|pmem|sound_model|usb_model)": _like(".+"),
    "input_bus": _one_of("usb", "virtio"),
    "maxphysaddr_bits": _ONE_OR_MORE,
    "maxphysaddr_mode": _one_of("passthrough", "emulate"),
    "mem_page_size": _like(_BYTES),
    r"numa_cpus\.[0-9]+": _like(_CPUS),
    r"numa_mem\.[0-9]+": _ONE_OR_MORE,
    "numa_nodes": _ONE_OR_MORE,
    "pci_numa_affinity_policy": _one_of("required", "preferred", "legacy", "socket"),
    "pointer_model": _one_of("ps2mouse", "usbtablet"),
    "(redirected_usb_ports|serial_port_count)": _SOME,
    "tpm_model": _one_of("tpm-tis", "tpm-crb"),
    "tpm_secret_security": _one_of("user", "host", "deployment"),
    "tpm_version": _one_of("1.2", "2.0"),
    "viommu_model": _one_of("intel", "smmuv3", "virtio", "auto"),
    "watchdog_action": _one_of("none", "pause", "poweroff", "reset", "disabled"),
}
_QUOTA: Final[Mapping[str, _Check]] = {
    "cpu_(shares|period|quota)": _SOME,
    "disk_(read|write|total)_(bytes|iops)_sec": _SOME,
    "vif_(inbound|outbound)_(average|burst|peak)": _SOME,
    "(cpu|memory|disk_io|vif)_(limit|reservation|shares_share)": _SOME,
    "(cpu|memory|disk_io|vif)_shares_level": _one_of("custom", "high", "normal", "low"),
}
# a pattern of the scope -> what there is in it
_SCOPES: Final[Mapping[str, Mapping[str, _Check]]] = {
    "hw": _HW,
    "hw_rng": {"allowed": _truth, "(rate_bytes|rate_period)": _SOME},
    "hw_video": {"ram_max_mb": _SOME},
    "os": {"secure_boot": _one_of("required", "optional", "disabled")},
    "quota": _QUOTA,
    f"resources{_GROUP}": {"[A-Z0-9_]+": _SOME},
    f"trait{_GROUP}": {"[A-Z0-9_]+": _one_of("required", "forbidden")},
    "accel": {"device_profile": _like(".+")},
    "pci_passthrough": {"alias": _like(r"[^:,]+:[0-9]+(\s*,\s*[^:,]+:[0-9]+)*")},
    "aggregate_instance_extra_specs": {".+": _ANY},
    "capabilities": {".+": _ANY},
}


def check(specs: Mapping[str, str]) -> None:
    """Make sure that extra specs of known scopes are known, and their values possible.

    :raises roost.exception.Invalid: naming the first that is not
    """
    for name, value in specs.items():
        scope, colon, rest = name.partition(":")
        known = _first(_SCOPES, scope) if colon else None
        if known is not None:
            _check_one(name, value, _first(known, rest))


def _check_one(name: str, value: str, is_possible: _Check | None) -> None:
    if is_possible is None:
        raise exception.Invalid(
            f"Validation failed; extra spec '{name}' does not appear to be a valid extra spec."
        )
    if not is_possible(value):
        raise exception.Invalid(
            f"Validation failed; '{value}' is not a possible value of extra spec '{name}'."
        )


def _first(table: Mapping[str, _Kind], text: str) -> _Kind | None:
    """Return what stands under the first pattern that is all of ``text``."""
    found = (value for pattern, value in table.items() if re.fullmatch(pattern, text, re.ASCII))
    return next(found, None)
