"""The traits that a host must have for the hardware that flavor and image request.

Not every hypervisor supports each device. The scheduler chooses among the hosts that report the
trait; names are those of os-traits where it has one.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from oslo_utils import strutils

from roost.hardware.values import HIDING, NETWORK_BOOTS, SOUND_MODELS, USB_MODELS

PREFIX: Final = "trait:"
REQUIRED: Final = "required"
FORBIDDEN: Final = "forbidden"
VALUES: Final = (REQUIRED, FORBIDDEN)
_Trait = Callable[[str], str | None]
HIDDEN: Final = "CUSTOM_COMPUTE_HIDE_HYPERVISOR_ID"
HPET: Final = "CUSTOM_COMPUTE_HPET"
LOCKED: Final = "CUSTOM_COMPUTE_LOCKED_MEMORY"
NETWORK_BOOT: Final = "CUSTOM_COMPUTE_NETWORK_BOOT"
PACKED: Final = "COMPUTE_NET_VIRTIO_PACKED"
PMU: Final = "CUSTOM_COMPUTE_PMU"
REDIRECTION: Final = "CUSTOM_COMPUTE_USB_REDIRECTION"
SERIAL_PORTS: Final = "CUSTOM_COMPUTE_SERIAL_PORTS"
EMULATED_ADDRESSES: Final = "COMPUTE_ADDRESS_SPACE_EMULATED"
HOST_ADDRESSES: Final = "COMPUTE_ADDRESS_SPACE_PASSTHROUGH"
SOUND: Final = {one: f"COMPUTE_SOUND_MODEL_{one.upper()}" for one in SOUND_MODELS}
USB: Final = {
    one: f"COMPUTE_USB_MODEL_{one.upper().replace('-', '_')}" for one in USB_MODELS if one != "none"
}
VIOMMU: Final = {one: f"COMPUTE_VIOMMU_MODEL_{one.upper()}" for one in ("auto", "intel", "virtio")}


def _if_yes(trait: str) -> _Trait:
    return lambda value: trait if strutils.bool_from_string(value) else None


def _if_said(trait: str) -> _Trait:
    return lambda _value: trait


def _beyond(usual: str, trait: str) -> _Trait:
    return lambda value: None if value.strip() in ("0", usual) else trait


def _both(name: str, trait: _Trait) -> dict[str, _Trait]:
    return {f"hw:{name}": trait, f"hw_{name}": trait}


_TRAITS: Final[Mapping[str, _Trait]] = {
    **dict.fromkeys(HIDING, _if_yes(HIDDEN)),
    **dict.fromkeys(NETWORK_BOOTS, _if_yes(NETWORK_BOOT)),
    "hw_time_hpet": _if_said(HPET),
    **_both("locked_memory", _if_yes(LOCKED)),
    **_both(
        "maxphysaddr_mode",
        {"emulate": EMULATED_ADDRESSES, "passthrough": HOST_ADDRESSES}.get,
    ),
    **_both("pmu", _if_said(PMU)),
    **_both("redirected_usb_ports", _beyond("0", REDIRECTION)),
    **_both("serial_port_count", _beyond("1", SERIAL_PORTS)),
    **_both("sound_model", SOUND.get),
    **_both("usb_model", USB.get),
    **_both("viommu_model", VIOMMU.get),
    **_both("virtio_packed_ring", _if_yes(PACKED)),
}


def required_by(said: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the traits that extra specs and properties require, in order of name.

    This includes traits required by name. Values are not checked here: the API has checked them.
    """
    found = {_trait(name, value.strip()) for name, value in said}
    return tuple(sorted(trait for trait in found if trait is not None))


def forbidden_by(said: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the traits that are forbidden by name, in order of name."""
    named = named_by(said)
    return tuple(sorted({name.removeprefix(PREFIX) for name, value in named if value == FORBIDDEN}))


def named_by(said: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the extra specs and properties that name traits; see :data:`VALUES`."""
    return [(name, value.strip()) for name, value in said if name.startswith(PREFIX)]


def _trait(name: str, value: str) -> str | None:
    if name.startswith(PREFIX):
        return name.removeprefix(PREFIX) if value == REQUIRED else None
    return _TRAITS[name](value) if name in _TRAITS else None
