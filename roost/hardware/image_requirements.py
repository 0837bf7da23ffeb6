"""The host requirements of an image, by its properties; current names first, then legacy ones."""

from collections.abc import Callable, Collection, Mapping
from typing import Final, NamedTuple, Protocol, Self

from oslo_utils import versionutils

_HVM: Final = "hvm"  # the mode of hypervisors that report none
_ALSO_CALLED: Final = {
    "amd64": "x86_64",
    "x64": "x86_64",
    "arm64": "aarch64",
    "i386": "i686",
    "i486": "i686",
    "i586": "i686",
    "x86": "i686",
    "kvm": "qemu",  # hosts of either kind report this
}
# Requirement -> the names of its property.
_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "architecture": ("hw_architecture", "architecture"),
    "emulated": ("hw_emulation_architecture",),
    "hypervisor": ("img_hv_type", "hypervisor_type"),
    "version": ("img_hv_requested_version", "hypervisor_version_requires"),
    "vm_mode": ("hw_vm_mode", "vm_mode"),
}


class Platform(Protocol):
    """The guests that a host supports."""

    @property
    def architectures(self) -> Collection[str]: ...

    @property
    def hypervisor_type(self) -> str: ...

    @property
    def hypervisor_version(self) -> int: ...

    @property
    def capabilities(self) -> Mapping[str, str]: ...


class ImageRequirements(NamedTuple):
    """The requirements of an image; None: not set."""

    architecture: str | None = None
    emulated: str | None = None
    hypervisor: str | None = None
    version: str | None = None
    vm_mode: str | None = None

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Self:
        """Read the properties of an image."""
        if not properties:
            return cls()
        return cls(
            *(
                next((found for name in names if (found := properties.get(name))), None)
                for names in _NAMES.values()
            )
        )

    def beyond(self, other: "ImageRequirements") -> "ImageRequirements":
        """Return the requirements that the other does not have."""
        return ImageRequirements(
            *(
                None if own is None or (known and canonical(own) == canonical(known)) else own
                for own, known in zip(self, other, strict=True)
            )
        )

    def unmet(self, host: Platform) -> list[str]:
        """Return the requirements that a host does not meet, by their current property names."""
        return [
            f"{_NAMES[name][0]}={required}"
            for name, required in self._asdict().items()
            if required is not None and not fits(name, required, host)
        ]


def fits(name: str, required: str, host: Platform) -> bool:
    """Return whether a host meets one of the fields of :class:`ImageRequirements`."""
    return _FITS[name](required, host)


def canonical(text: str) -> str:
    """Return the canonical form of a name, such as that of an architecture, for comparison."""
    name = text.strip().lower()
    return _ALSO_CALLED.get(name, name)


def _has_architecture(wanted: str, host: Platform) -> bool:
    return canonical(wanted) in map(canonical, host.architectures)


def _is_hypervisor(wanted: str, host: Platform) -> bool:
    return canonical(host.hypervisor_type) == canonical(wanted)


def _has_version(wanted: str, host: Platform) -> bool:
    version = versionutils.convert_version_to_str(host.hypervisor_version)
    try:
        return bool(versionutils.VersionPredicate(wanted).satisfied_by(version))
    except ValueError:
        return False


def _has_vm_mode(wanted: str, host: Platform) -> bool:
    modes = host.capabilities.get("vm_modes", _HVM)
    return wanted.lower() in (mode.strip().lower() for mode in modes.split(","))


_FITS: Final[Mapping[str, Callable[[str, Platform], bool]]] = {
    "architecture": _has_architecture,
    "emulated": _has_architecture,
    "hypervisor": _is_hypervisor,
    "version": _has_version,
    "vm_mode": _has_vm_mode,
}
