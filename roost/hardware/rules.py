"""Rules on the hardware that flavor and image request: what goes together, and what it means.

None of them needs a host. So the API refuses what no host could provide, and hosts read the same
results: machine, buses, devices, limits, and the CPU topology closest to the request. Checks that
depend on a host's default machine type are left to the host.
"""

import functools
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from roost import exception
from roost.hardware import resource_groups, traits
from roost.hardware.properties import HardwareProperties
from roost.hardware.values import (
    AGREED_CHOICES,
    AGREED_NUMBERS,
    AGREED_TRUTHS,
    CDROM,
    EMULATE,
    IDE,
    NO_USB,
    SCSI,
    VIRTIO,
    agreed,
    agreed_number,
    agreed_truth,
    check_value,
    chosen,
    counted,
)
from roost.objects.flavor import Flavor, ImageMeta

_LEVELS: Final = ("sockets", "cores", "threads")


def shape_of(properties: HardwareProperties) -> tuple[int, int, int] | None:
    """Return sockets, cores per socket and threads per core; None: not requested.

    The image's preferences come before the flavor's, within the flavor's maxima.

    :raises roost.exception.Invalid: for impossible numbers, or when no topology fits
    """
    preferred = _preferences(properties, "image") or _preferences(properties, "flavor")
    most = _limits(properties)
    if not preferred and not most:
        return None
    fitting = [shape for shape in _shapes(properties.vcpus) if _is_within(shape, most)]
    if not fitting:
        limits = ", ".join(f"hw:cpu_max_{name}={limit}" for name, limit in most.items())
        raise exception.Invalid(f"{properties.vcpus} CPUs are not possible with {limits}.")
    return max(fitting, key=lambda shape: _nearness(shape, preferred))


def _preferences(properties: HardwareProperties, source: str) -> dict[str, int]:
    """Return the topology that the flavor or the image prefers, as far as it is set."""
    return _numbers(properties, source, "cpu_")


def _limits(properties: HardwareProperties) -> dict[str, int]:
    """Return the maximum of each; the image's must be within its flavor's."""
    flavor, image = (
        _numbers(properties, "flavor", "cpu_max_"),
        _numbers(properties, "image", "cpu_max_"),
    )
    _check_within("hw_cpu_max_", image, flavor)
    limits = flavor | image
    _check_within("hw_cpu_", _preferences(properties, "image"), limits)
    return limits


def _check_within(prefix: str, asked: Mapping[str, int], most: Mapping[str, int]) -> None:
    for name, many in asked.items():
        if many > most.get(name, many):
            limit = most[name]
            raise exception.Invalid(f"{prefix}{name} is '{many}', but may be {limit} at most.")


def _numbers(properties: HardwareProperties, source: str, prefix: str) -> dict[str, int]:
    start = "hw:" if source == "flavor" else "hw_"
    said = {name: counted(properties, f"{start}{prefix}{name}") for name in _LEVELS}
    return {name: many for name, many in said.items() if many is not None}


def _shapes(vcpus: int) -> Iterator[tuple[int, int, int]]:
    """Yield all topologies, those with most sockets and then cores first."""
    for threads in _divisors(vcpus):
        for cores in _divisors(vcpus // threads):
            yield vcpus // (threads * cores), cores, threads


def _divisors(number: int) -> list[int]:
    small = [one for one in range(1, int(number**0.5) + 1) if number % one == 0]
    return sorted({*small, *(number // one for one in small)})


def _is_within(shape: tuple[int, ...], most: Mapping[str, int]) -> bool:
    return all(many <= most.get(name, many) for name, many in zip(_LEVELS, shape, strict=True))


def _nearness(shape: tuple[int, ...], preferred: Mapping[str, int]) -> int:
    """Count the preferences that are met."""
    return sum(preferred.get(name) == many for name, many in zip(_LEVELS, shape, strict=True))


_Check = Callable[[HardwareProperties], object]
UEFI: Final = "uefi"
Q35: Final = "q35"
_DISK_WAYS: Final = ("total", "read", "write")
_UNITS: Final = ("bytes", "iops")
_VIF_WAYS: Final = ("inbound", "outbound")
_RATES: Final = ("average", "peak", "burst")


def check(flavor: Flavor, image: ImageMeta | None) -> None:
    """Make sure that some host could provide all that flavor and image request.

    :param image: None: any; then combinations with image properties are not checked
    :raises roost.exception.Invalid: naming the property and its allowed values
    """
    for complaint in _complaints(flavor, image):
        raise exception.Invalid(complaint)


def complaints(flavor: Flavor, image: ImageMeta | None) -> list[str]:
    """Return the messages of all that :func:`check` would refuse, each once."""
    return [*dict.fromkeys(_complaints(flavor, image))]


def _complaints(flavor: Flavor, image: ImageMeta | None) -> Iterator[str]:
    properties = HardwareProperties(flavor, image)
    checks: list[_Check] = [
        functools.partial(check_value, name=name) for name in properties.names()
    ]
    if not checks:
        return
    for one in (*checks, _check_traits, *(_TOGETHER if image is not None else ())):
        try:
            one(properties)
        except exception.Invalid as error:
            yield error.message


# Machine and firmware


def machine(properties: HardwareProperties, default: str | None = None) -> str | None:
    """Return the machine type of a guest; None: the default of its host's QEMU.

    :param default: for guests whose image sets none
    :raises roost.exception.Invalid: when it lacks a requested feature
    """
    found = properties.image_value("machine_type") or default
    needing = {
        "os_secure_boot": secure_boot(properties),
        "hw:viommu_model": agreed(properties, "viommu_model") is not None,
    }
    for name in [name for name, is_asked in needing.items() if is_asked]:
        if found is not None and not is_q35(found):
            raise exception.Invalid(f"{name} needs hw_machine_type=q35, not '{found}'.")
        found = found or Q35
    return found


def is_q35(name: str | None) -> bool:
    """Return whether a machine type is q35: PCIe, and neither IDE nor floppies."""
    return name is not None and (name == Q35 or name.startswith("pc-q35"))


def secure_boot(properties: HardwareProperties) -> bool:
    """Return whether secure boot is required; "optional" leaves it to the firmware.

    :raises roost.exception.Invalid: when flavor and image do not agree, or there is no UEFI
    """
    flavor, image = chosen(properties, "os:secure_boot"), chosen(properties, "os_secure_boot")
    if flavor and image and flavor != image:
        raise exception.Invalid(
            f"Image property 'os_secure_boot' is '{image}', but the flavor has '{flavor}' in"
            " 'os:secure_boot'."
        )
    is_required = (flavor or image) == "required"
    if is_required and chosen(properties, "hw_firmware_type") != UEFI:
        raise exception.Invalid("os_secure_boot needs an image with hw_firmware_type=uefi.")
    return is_required


# Buses


def disk_bus(properties: HardwareProperties, of_machine: str | None) -> str:
    """Return the bus of disks whose users do not set one."""
    return _bus(properties, "hw_disk_bus", VIRTIO, of_machine)


def cd_bus(properties: HardwareProperties, of_machine: str | None) -> str:
    """Return the bus of CDs."""
    return _bus(properties, "hw_cdrom_bus", SCSI, of_machine)


def check_bus(name: str, bus: str, of_machine: str | None) -> None:
    """Make sure that a machine has a bus.

    :param name: of the property that requests it
    :raises roost.exception.Invalid: when it does not
    """
    if bus == IDE and is_q35(of_machine):
        raise exception.Invalid(
            f"{name} is 'ide', which machine {of_machine} does not have: use scsi, sata, usb"
            " or virtio."
        )


def check_own_bus(properties: HardwareProperties, name: str, bus: str) -> None:
    """Make sure that a guest has a bus that is requested outside its flavor and image.

    :param name: of the property that requests it
    :raises roost.exception.Invalid: when it does not
    """
    check_bus(name, bus, machine(properties))
    usb_model(properties, {bus})


def _bus(properties: HardwareProperties, name: str, usual: str, of_machine: str | None) -> str:
    found = chosen(properties, name) or usual
    check_bus(name, found, of_machine)
    return found


def rescue_device(properties: HardwareProperties) -> tuple[bool, str] | None:
    """Return whether a rescue image is attached as a CD, and its bus; None: not set.

    :raises roost.exception.Invalid: for impossible combinations
    """
    device, bus = chosen(properties, "hw_rescue_device"), chosen(properties, "hw_rescue_bus")
    if device is None and bus is None:
        return None
    is_cd = device == CDROM
    if is_cd and bus == VIRTIO:
        raise exception.Invalid("hw_rescue_bus is 'virtio', but CDs are on scsi, sata, usb or ide.")
    return is_cd, bus or (SCSI if is_cd else VIRTIO)


def input_bus(properties: HardwareProperties) -> str | None:
    """Return the bus of input devices, beside the keyboard and mouse that every PC has."""
    pointer = agreed(properties, "pointer_model")
    return agreed(properties, "input_bus") or ("usb" if pointer == "usbtablet" else None)


def usb_model(properties: HardwareProperties, buses: Collection[str | None]) -> str | None:
    """Return the model of the USB controller; devices on USB need one.

    :param buses: those of disks and CDs
    :raises roost.exception.Invalid: when devices need a controller and the model is "none"
    """
    model = agreed(properties, "usb_model")
    if model != NO_USB:
        return model
    if agreed_number(properties, "redirected_usb_ports"):
        raise exception.Invalid("hw:redirected_usb_ports needs an hw:usb_model other than none.")
    if "usb" in {*buses, input_bus(properties), agreed(properties, "sound_model")}:
        raise exception.Invalid("hw:usb_model is 'none', but the guest has devices on USB.")
    return model


# Other devices


def serial_ports(properties: HardwareProperties) -> int:
    """Return the number of serial ports; an image may request fewer than its flavor has.

    :raises roost.exception.Invalid: when it requests more
    """
    most, asked = (
        counted(properties, "hw:serial_port_count"),
        counted(properties, "hw_serial_port_count"),
    )
    if most and asked is not None and asked > most:
        raise exception.Invalid(
            f"hw_serial_port_count is '{asked}', but the flavor allows {most}"
            " (hw:serial_port_count)."
        )
    return asked or most or 1


def tpm(properties: HardwareProperties) -> tuple[str, str] | None:
    """Return the model and the version of a TPM; None: no TPM.

    :raises roost.exception.Invalid: for a model without a version, or with the wrong one
    """
    model, version = agreed(properties, "tpm_model"), agreed(properties, "tpm_version")
    if version is None:
        if model is not None:
            raise exception.Invalid("hw:tpm_model needs hw:tpm_version: 1.2 or 2.0.")
        return None
    if (model, version) == ("tpm-crb", "1.2"):
        raise exception.Invalid("hw:tpm_model is 'tpm-crb', which needs hw:tpm_version=2.0.")
    return model or "tpm-tis", version


def video_ram(properties: HardwareProperties) -> int | None:
    """Return the video memory in MB; None: QEMU's default.

    The image's value counts only where its flavor sets a maximum.

    :raises roost.exception.Invalid: for more than the flavor allows
    """
    memory_mb, most = (
        counted(properties, "hw_video_ram"),
        counted(properties, "hw_video:ram_max_mb"),
    )
    if not most:
        return None
    if memory_mb is not None and memory_mb > most:
        raise exception.Invalid(
            f"hw_video_ram is '{memory_mb}', but the flavor allows {most} MB (hw_video:ram_max_mb)."
        )
    return memory_mb


def local_state(properties: HardwareProperties) -> str | None:
    """Return what of a guest's state hypervisors cannot copy to another host; None: nothing."""
    kept = {
        "variables of UEFI": chosen(properties, "hw_firmware_type") == UEFI,
        "a TPM": tpm(properties) is not None,
        "a virtual GPU": "VGPU" in _classes(properties),
    }
    return " and ".join(what for what, is_kept in kept.items() if is_kept) or None


def _classes(properties: HardwareProperties) -> Collection[str]:
    specs = {name: properties.spec(name) or "" for name in properties.names()}
    return resource_groups.requested_by(specs, {}).classes


# Limits


def disk_limits(properties: HardwareProperties) -> dict[str, int]:
    """Return the limits of each disk, by the name after ``quota:disk_``.

    :raises roost.exception.Invalid: for a total beside read or write, which QEMU does not support
    """
    names = [f"{way}_{unit}_sec" for way in _DISK_WAYS for unit in _UNITS]
    limits = _said(properties, "quota:disk_", names)
    for unit in _UNITS:
        parts = [name for name in limits if name.endswith(f"_{unit}_sec")]
        if len(parts) > 1 and f"total_{unit}_sec" in parts:
            raise exception.Invalid(
                f"quota:disk_total_{unit}_sec goes without quota:disk_read_{unit}_sec and"
                f" quota:disk_write_{unit}_sec."
            )
    return limits


def vif_rates(properties: HardwareProperties) -> dict[str, int]:
    """Return the rates (KiB) of each interface, by the name after ``quota:vif_``.

    :raises roost.exception.Invalid: for a peak without an average
    """
    rates = _said(
        properties, "quota:vif_", [f"{way}_{rate}" for way in _VIF_WAYS for rate in _RATES]
    )
    for way in _VIF_WAYS:
        named = {name for name in rates if name.startswith(way)}
        if named and f"{way}_average" not in named:
            raise exception.Invalid(
                f"{', '.join(f'quota:vif_{name}' for name in sorted(named))} means nothing"
                f" without quota:vif_{way}_average."
            )
    return rates


def _said(properties: HardwareProperties, prefix: str, names: Collection[str]) -> dict[str, int]:
    found = {name: counted(properties, f"{prefix}{name}") for name in names}
    return {name: most for name, most in found.items() if most is not None}


# Checks without a result


def _check_buses(properties: HardwareProperties) -> None:
    """Check the buses, as far as the machine type is known."""
    known = machine(properties)
    usb_model(properties, {disk_bus(properties, known), cd_bus(properties, known)})


def _check_video(properties: HardwareProperties) -> None:
    if video_ram(properties) is not None and chosen(properties, "hw_video_model") == "none":
        raise exception.Invalid("hw_video_ram needs an hw_video_model other than none.")


def _check_memory(properties: HardwareProperties) -> None:
    """Allow locked memory only with a page size: then it is not overcommitted."""
    if agreed_truth(properties, "locked_memory") and not (
        properties.flavor_value("mem_page_size") or properties.image_value("mem_page_size")
    ):
        raise exception.Invalid("hw:locked_memory needs hw:mem_page_size, such as small.")


def _check_addresses(properties: HardwareProperties) -> None:
    mode = agreed(properties, "maxphysaddr_mode")
    bits = agreed_number(properties, "maxphysaddr_bits")
    if (mode == EMULATE) != (bits is not None):
        raise exception.Invalid(
            "hw:maxphysaddr_mode=emulate and hw:maxphysaddr_bits go together: set both or neither."
        )


def _check_architecture(properties: HardwareProperties) -> None:
    """Refuse emulation of another architecture; emulation of the same one needs none."""
    own, emulated = (
        properties.image_value("architecture"),
        properties.image_value("emulation_architecture"),
    )
    if own is not None and emulated is not None and own != emulated:
        raise exception.Invalid(
            f"hw_emulation_architecture is '{emulated}', but must be that of hw_architecture"
            f" ('{own}'): no other is emulated."
        )


def _check_traits(properties: HardwareProperties) -> None:
    """Refuse traits that no host can both have and not have."""
    said = properties.said()
    for name, value in traits.named_by(said):
        if value not in traits.VALUES:
            raise exception.Invalid(f"{name} is '{value}', but must be required or forbidden.")
    forbidden = {*traits.forbidden_by(said)}
    for trait in traits.required_by(said):
        if trait in forbidden:
            raise exception.Invalid(
                f"The trait {trait} is required and forbidden at once: flavor and image must agree."
            )


_TOGETHER: Final[tuple[_Check, ...]] = (
    *(functools.partial(agreed, name=name) for name in AGREED_CHOICES),
    *(functools.partial(agreed_truth, name=name) for name in AGREED_TRUTHS),
    *(functools.partial(agreed_number, name=name) for name in AGREED_NUMBERS),
    serial_ports,
    rescue_device,
    _check_memory,
    _check_addresses,
    _check_buses,
    _check_architecture,
    tpm,
    _check_video,
    shape_of,
    disk_limits,
    vif_rates,
)
