"""What flavor and image say of a server's hardware: ``hw:`` extra specs and ``hw_`` properties.

The flavor's word counts, since administrators make flavors. An image may say the same, or what the
flavor leaves open; it must not say anything else.
"""

from collections.abc import Sequence
from typing import Final

from roost import exception
from roost.objects import Flavor, ImageMeta

_NOT_DONE: Final = {
    "emulator_threads_policy": "emulator threads run on the server's own CPUs",
    "cpu_realtime": "real-time CPUs are not supported",
}
_NO: Final = ("", "0", "f", "false", "n", "no", "off")


class HardwareWords:
    """The words of one flavor and one image, by what follows ``hw:`` and ``hw_``."""

    def __init__(self, flavor: Flavor, image: ImageMeta) -> None:
        self._specs = flavor.extra_specs
        self._properties = image.properties

    def flavor_word(self, name: str) -> str | None:
        """Return what the flavor says."""
        return _stripped(self._specs.get(f"hw:{name}"))

    def image_word(self, name: str) -> str | None:
        """Return what the image says."""
        return _stripped(self._properties.get(f"hw_{name}"))

    def word(self, name: str) -> str | None:
        """Return what is said, by whomever.

        :raises roost.exception.Invalid: when the image contradicts the flavor
        """
        flavor, image = self.flavor_word(name), self.image_word(name)
        if flavor is not None and image is not None and flavor != image:
            raise exception.Invalid(
                f"Image property 'hw_{name}' is not permitted to override 'hw:{name}' set against"
                f" the flavor: '{image}' is not '{flavor}'"
            )
        return image if flavor is None else flavor

    def one_of(self, name: str, allowed: Sequence[str], *, called: str) -> str | None:
        """Return a word that must be one of a few.

        :raises roost.exception.Invalid: when it is not
        """
        found = self.word(name)
        if found is not None and found not in allowed:
            raise exception.Invalid(
                f"{called} requested is invalid: '{found}', must be one of {', '.join(allowed)}"
            )
        return found

    def numbered(self, name: str) -> dict[int, str]:
        """Return what is said by number, as in ``hw:numa_cpus.0``.

        :raises roost.exception.Invalid: when a number is none
        """
        names = [key.removeprefix("hw:") for key in self._specs]
        names += [key.removeprefix("hw_") for key in self._properties]
        found = {}
        for one in sorted({each for each in names if each.startswith(f"{name}.")}):
            number = one.removeprefix(f"{name}.")
            if not (number.isascii() and number.isdigit()):
                raise exception.Invalid(f"'{one}' does not name a NUMA node")
            found[int(number)] = self.word(one) or ""
        return found

    def check_supported(self) -> None:
        """Raise :class:`roost.exception.Invalid` for what would otherwise be passed over."""
        for name, why in _NOT_DONE.items():
            if (self.word(name) or "").lower() not in _NO:
                raise exception.Invalid(f"hw:{name} is not supported: {why}.")


def _stripped(value: str | None) -> str | None:
    return None if value is None else value.strip()
