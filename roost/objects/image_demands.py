"""Which hosts an image is for, by what its properties say; today's names, or else those of old."""

from collections.abc import Mapping
from typing import Final, NamedTuple, Self

_ALSO_CALLED: Final = {
    "amd64": "x86_64",
    "x64": "x86_64",
    "arm64": "aarch64",
    "i386": "i686",
    "i486": "i686",
    "i586": "i686",
    "x86": "i686",
}
# What it says -> by which names.
_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "architecture": ("hw_architecture", "architecture"),
    "emulated": ("hw_emulation_architecture",),
    "hypervisor": ("img_hv_type", "hypervisor_type"),
    "version": ("img_hv_requested_version", "hypervisor_version_requires"),
    "vm_mode": ("hw_vm_mode", "vm_mode"),
}


class ImageDemands(NamedTuple):
    """What an image says; None: nothing."""

    architecture: str | None = None
    emulated: str | None = None
    hypervisor: str | None = None
    version: str | None = None
    vm_mode: str | None = None

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> Self:
        """Read the properties of an image."""
        return cls(
            *(
                next((found for name in names if (found := properties.get(name))), None)
                for names in _NAMES.values()
            )
        )

    def beyond(self, other: "ImageDemands") -> list[str]:
        """Return what this says and the other does not, as properties of today."""
        return [
            f"{names[0]}={own}"
            for names, own, known in zip(_NAMES.values(), self, other, strict=True)
            if own is not None and (known is None or canonical(own) != canonical(known))
        ]


def canonical(word: str) -> str:
    """Return what a word, such as the name of an architecture, is compared as."""
    name = word.strip().lower()
    return _ALSO_CALLED.get(name, name)
