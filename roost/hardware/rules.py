"""Whether what flavor and image say of a guest's hardware makes sense together, and what it means.

All of it can be told without a host. So the API refuses what no host could do, and hosts read the
same answers here: machine, buses, devices, limits, and the shape of CPUs that comes nearest to what
is asked for. What depends on the machine that a host gives guests by itself waits for it.
"""

import functools
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from roost import exception
from roost.hardware import traits
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


def shape_of(words: HardwareProperties) -> tuple[int, int, int] | None:
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


def _wishes(words: HardwareProperties, who: str) -> dict[str, int]:
    """Return the shape that somebody would like, as far as he says."""
    return _numbers(words, who, "cpu_")


def _limits(words: HardwareProperties) -> dict[str, int]:
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


def _numbers(words: HardwareProperties, who: str, prefix: str) -> dict[str, int]:
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


_Check = Callable[[HardwareProperties], object]
UEFI: Final = "uefi"
Q35: Final = "q35"
_DISK_WAYS: Final = ("total", "read", "write")
_UNITS: Final = ("bytes", "iops")
_VIF_WAYS: Final = ("inbound", "outbound")
_RATES: Final = ("average", "peak", "burst")


def check(flavor: Flavor, image: ImageMeta | None) -> None:
    """Make sure that some host could do all that flavor and image say.

    :param image: None: any; then it is not known what the flavor's words go together with
    :raises roost.exception.Invalid: naming what is said, and what it may be
    """
    for complaint in _complaints(flavor, image):
        raise exception.Invalid(complaint)


def complaints(flavor: Flavor, image: ImageMeta | None) -> list[str]:
    """Return all that :func:`check` would refuse, each once."""
    return [*dict.fromkeys(_complaints(flavor, image))]


def _complaints(flavor: Flavor, image: ImageMeta | None) -> Iterator[str]:
    words = HardwareProperties(flavor, image)
    checks: list[_Check] = [functools.partial(check_value, name=name) for name in words.names()]
    if not checks:
        return
    for one in (*checks, _check_traits, *(_TOGETHER if image is not None else ())):
        try:
            one(words)
        except exception.Invalid as error:
            yield error.message


# What it is started by


def machine(words: HardwareProperties, default: str | None = None) -> str | None:
    """Return the machine of a guest; None: what its host's QEMU takes by itself.

    :param default: of guests whose image names none
    :raises roost.exception.Invalid: when it has not what is asked for
    """
    found = words.image_word("machine_type") or default
    needing = {
        "os_secure_boot": secure_boot(words),
        "hw:viommu_model": agreed(words, "viommu_model") is not None,
    }
    for name in [name for name, is_asked in needing.items() if is_asked]:
        if found is not None and not is_q35(found):
            raise exception.Invalid(f"{name} needs hw_machine_type=q35, not '{found}'.")
        found = found or Q35
    return found


def is_q35(name: str | None) -> bool:
    """Tell whether a machine has PCIe, and neither IDE nor floppies."""
    return name is not None and (name == Q35 or name.startswith("pc-q35"))


def secure_boot(words: HardwareProperties) -> bool:
    """Tell whether only signed systems are to start; "optional" is what UEFI makes of it.

    :raises roost.exception.Invalid: when flavor and image do not agree, or there is no UEFI
    """
    flavor, image = chosen(words, "os:secure_boot"), chosen(words, "os_secure_boot")
    if flavor and image and flavor != image:
        raise exception.Invalid(
            f"Image property 'os_secure_boot' is '{image}', but the flavor says '{flavor}' by"
            " 'os:secure_boot'."
        )
    is_required = (flavor or image) == "required"
    if is_required and chosen(words, "hw_firmware_type") != UEFI:
        raise exception.Invalid("os_secure_boot needs an image that says hw_firmware_type=uefi.")
    return is_required


# Disks and what else is on a bus


def disk_bus(words: HardwareProperties, of_machine: str | None) -> str:
    """Return what disks are on, if their users do not say."""
    return _bus(words, "hw_disk_bus", VIRTIO, of_machine)


def cd_bus(words: HardwareProperties, of_machine: str | None) -> str:
    """Return what CDs are on."""
    return _bus(words, "hw_cdrom_bus", SCSI, of_machine)


def check_bus(name: str, bus: str, of_machine: str | None) -> None:
    """Make sure that a machine has a bus.

    :param name: of the word that asks for it
    :raises roost.exception.Invalid: when it has not
    """
    if bus == IDE and is_q35(of_machine):
        raise exception.Invalid(
            f"{name} is 'ide', which the machine {of_machine} has not: it may be scsi, sata, usb"
            " or virtio."
        )


def check_own_bus(words: HardwareProperties, name: str, bus: str) -> None:
    """Make sure that a guest has a bus that is asked for beside its flavor and image.

    :param name: of the word that asks for it
    :raises roost.exception.Invalid: when it has not
    """
    check_bus(name, bus, machine(words))
    usb_model(words, {bus})


def _bus(words: HardwareProperties, name: str, usual: str, of_machine: str | None) -> str:
    found = chosen(words, name) or usual
    check_bus(name, found, of_machine)
    return found


def rescue_device(words: HardwareProperties) -> tuple[bool, str] | None:
    """Return whether an image that others are rescued from is a CD, and its bus; None: as it comes.

    :raises roost.exception.Invalid: for what cannot be
    """
    device, bus = chosen(words, "hw_rescue_device"), chosen(words, "hw_rescue_bus")
    if device is None and bus is None:
        return None
    is_cd = device == CDROM
    if is_cd and bus == VIRTIO:
        raise exception.Invalid("hw_rescue_bus is 'virtio', but CDs are on scsi, sata, usb or ide.")
    return is_cd, bus or (SCSI if is_cd else VIRTIO)


def input_bus(words: HardwareProperties) -> str | None:
    """Return what people's devices are on, beside the keyboard and mouse that every PC has."""
    pointer = agreed(words, "pointer_model")
    return agreed(words, "input_bus") or ("usb" if pointer == "usbtablet" else None)


def usb_model(words: HardwareProperties, buses: Collection[str | None]) -> str | None:
    """Return the model of the USB controller; for what is on USB there must be one.

    :param buses: those of disks and CDs
    :raises roost.exception.Invalid: when there is to be none
    """
    model = agreed(words, "usb_model")
    if model != NO_USB:
        return model
    if agreed_number(words, "redirected_usb_ports"):
        raise exception.Invalid("hw:redirected_usb_ports needs an hw:usb_model other than none.")
    if "usb" in {*buses, input_bus(words), agreed(words, "sound_model")}:
        raise exception.Invalid("hw:usb_model is 'none', but the guest has devices on USB.")
    return model


# Other devices


def serial_ports(words: HardwareProperties) -> int:
    """Return how many serial ports there are; an image may ask for fewer than its flavor has.

    :raises roost.exception.Invalid: when it asks for more
    """
    most, asked = counted(words, "hw:serial_port_count"), counted(words, "hw_serial_port_count")
    if most and asked is not None and asked > most:
        raise exception.Invalid(
            f"hw_serial_port_count is '{asked}', but the flavor allows {most}"
            " (hw:serial_port_count)."
        )
    return asked or most or 1


def tpm(words: HardwareProperties) -> tuple[str, str] | None:
    """Return the model and the version of a TPM; None: there is none.

    :raises roost.exception.Invalid: for a model without a version, or not of its version
    """
    model, version = agreed(words, "tpm_model"), agreed(words, "tpm_version")
    if version is None:
        if model is not None:
            raise exception.Invalid("hw:tpm_model needs hw:tpm_version: 1.2 or 2.0.")
        return None
    if (model, version) == ("tpm-crb", "1.2"):
        raise exception.Invalid("hw:tpm_model is 'tpm-crb', which needs hw:tpm_version=2.0.")
    return model or "tpm-tis", version


def video_ram(words: HardwareProperties) -> int | None:
    """Return the MB of memory of a graphics card; None: as much as QEMU gives it.

    What an image would like counts only where its flavor allows some.

    :raises roost.exception.Invalid: for more than the flavor allows
    """
    memory_mb, most = counted(words, "hw_video_ram"), counted(words, "hw_video:ram_max_mb")
    if not most:
        return None
    if memory_mb is not None and memory_mb > most:
        raise exception.Invalid(
            f"hw_video_ram is '{memory_mb}', but the flavor allows {most} MB (hw_video:ram_max_mb)."
        )
    return memory_mb


# Limits


def disk_limits(words: HardwareProperties) -> dict[str, int]:
    """Return what each disk may do, by the names that follow ``quota:disk_``.

    :raises roost.exception.Invalid: for a limit of all beside one of a part, which QEMU cannot keep
    """
    names = [f"{way}_{unit}_sec" for way in _DISK_WAYS for unit in _UNITS]
    limits = _said(words, "quota:disk_", names)
    for unit in _UNITS:
        parts = [name for name in limits if name.endswith(f"_{unit}_sec")]
        if len(parts) > 1 and f"total_{unit}_sec" in parts:
            raise exception.Invalid(
                f"quota:disk_total_{unit}_sec goes without quota:disk_read_{unit}_sec and"
                f" quota:disk_write_{unit}_sec."
            )
    return limits


def vif_rates(words: HardwareProperties) -> dict[str, int]:
    """Return what each interface may carry, by the names that follow ``quota:vif_``.

    :raises roost.exception.Invalid: for a peak without an average
    """
    rates = _said(words, "quota:vif_", [f"{way}_{rate}" for way in _VIF_WAYS for rate in _RATES])
    for way in _VIF_WAYS:
        named = {name for name in rates if name.startswith(way)}
        if named and f"{way}_average" not in named:
            raise exception.Invalid(
                f"{', '.join(f'quota:vif_{name}' for name in sorted(named))} means nothing"
                f" without quota:vif_{way}_average."
            )
    return rates


def _said(words: HardwareProperties, prefix: str, names: Collection[str]) -> dict[str, int]:
    found = {name: counted(words, f"{prefix}{name}") for name in names}
    return {name: most for name, most in found.items() if most is not None}


# What only makes sense or not


def _check_buses(words: HardwareProperties) -> None:
    """Look at the buses, as far as the machine is known."""
    known = machine(words)
    usb_model(words, {disk_bus(words, known), cd_bus(words, known)})


def _check_video(words: HardwareProperties) -> None:
    if video_ram(words) is not None and chosen(words, "hw_video_model") == "none":
        raise exception.Invalid("hw_video_ram needs an hw_video_model other than none.")


def _check_memory(words: HardwareProperties) -> None:
    """Lock memory only where none of it is promised twice, as that with a size of pages is not."""
    if agreed_truth(words, "locked_memory") and not (
        words.flavor_word("mem_page_size") or words.image_word("mem_page_size")
    ):
        raise exception.Invalid("hw:locked_memory needs hw:mem_page_size, such as small.")


def _check_addresses(words: HardwareProperties) -> None:
    mode = agreed(words, "maxphysaddr_mode")
    bits = agreed_number(words, "maxphysaddr_bits")
    if (mode == EMULATE) != (bits is not None):
        raise exception.Invalid(
            "hw:maxphysaddr_mode=emulate and hw:maxphysaddr_bits go together: set both or neither."
        )


def _check_architecture(words: HardwareProperties) -> None:
    """Refuse to emulate; a host that has the architecture itself need not."""
    own, emulated = words.image_word("architecture"), words.image_word("emulation_architecture")
    if own is not None and emulated is not None and own != emulated:
        raise exception.Invalid(
            f"hw_emulation_architecture is '{emulated}', but must be that of hw_architecture"
            f" ('{own}'): no other is emulated."
        )


def _check_traits(words: HardwareProperties) -> None:
    """Refuse traits that no host can both have and not have."""
    said = words.said()
    for name, value in traits.named_by(said):
        if value not in traits.WORDS:
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
