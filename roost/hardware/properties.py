"""Reader of a server's hardware properties: ``hw:`` extra specs and ``hw_`` image properties.

The flavor takes precedence, since administrators create flavors. An image may set the same value,
or one that the flavor leaves open, but no other. Exceptions are documented at their readers.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from oslo_utils import strutils

from roost import exception
from roost.objects.flavor import Flavor, ImageMeta

_MOST: Final = 2**62


class HardwareProperties:
    """The values of one flavor and one image, by the name after ``hw:`` and ``hw_``."""

    def __init__(self, flavor: Flavor, image: ImageMeta | None) -> None:
        self._specs = flavor.extra_specs
        self._properties = image.properties if image else {}
        self.vcpus = int(flavor.vcpus)

    def said(self) -> Iterable[tuple[str, str]]:
        """Return all properties and extra specs, unchanged."""
        return (*self._properties.items(), *self._specs.items())

    def names(self) -> Iterable[str]:
        """Return the names of all properties and extra specs, each once."""
        return {**self._specs, **self._properties}

    def spec(self, name: str) -> str | None:
        """Return an extra spec by its full name."""
        return _stripped(self._specs.get(name))

    def image_property(self, name: str) -> str | None:
        """Return a property of the image by its full name."""
        return _stripped(self._properties.get(name))

    def flavor_value(self, name: str) -> str | None:
        """Return the flavor's value."""
        return self.spec(f"hw:{name}")

    def image_value(self, name: str) -> str | None:
        """Return the image's value."""
        return self.image_property(f"hw_{name}")

    def value(self, name: str) -> str | None:
        """Return the value of the flavor or of the image.

        :raises roost.exception.Invalid: when the image contradicts the flavor
        """
        flavor, image = self.flavor_value(name), self.image_value(name)
        if flavor is not None and image is not None and flavor != image:
            raise exception.Invalid(
                f"Image property 'hw_{name}' is not permitted to override 'hw:{name}' set against"
                f" the flavor: '{image}' is not '{flavor}'"
            )
        return image if flavor is None else flavor

    def one_of(self, name: str, allowed: Sequence[str], *, called: str) -> str | None:
        """Return a value that must be one of ``allowed``.

        :raises roost.exception.Invalid: when it is not
        """
        found = self.value(name)
        if found is not None and found not in allowed:
            raise exception.Invalid(
                f"{called} requested is invalid: '{found}', must be one of {', '.join(allowed)}"
            )
        return found

    def numbered(self, name: str) -> dict[int, str]:
        """Return values by the number in their name, as in ``hw:numa_cpus.0``.

        :raises roost.exception.Invalid: when the suffix is not a number
        """
        names = [key.removeprefix("hw:") for key in self._specs]
        names += [key.removeprefix("hw_") for key in self._properties]
        found = {}
        for one in sorted({each for each in names if each.startswith(f"{name}.")}):
            number = one.removeprefix(f"{name}.")
            if not (number.isascii() and number.isdigit()):
                raise exception.Invalid(f"'{one}' does not name a NUMA node")
            found[int(number)] = self.value(one) or ""
        return found


def truth(name: str, text: str | None) -> bool:
    """Parse a boolean; None is False.

    :param name: of the extra spec or property, for the error message
    :raises roost.exception.Invalid: when it is not a boolean
    """
    try:
        return text is not None and strutils.bool_from_string(text, strict=True)
    except ValueError as error:
        raise exception.Invalid(f"{name} is '{text}', but must be yes or no.") from error


def number(name: str, text: str | None, *, least: int = 0, most: int = _MOST) -> int | None:
    """Parse a number; None is None.

    :raises roost.exception.Invalid: when it is not a number from ``least`` to ``most``
    """
    if text is None:
        return None
    if text.isascii() and text.isdigit() and least <= int(text) <= most:
        return int(text)
    raise exception.Invalid(f"{name} is '{text}', but must be a number from {least} to {most}.")


def choice(name: str, text: str | None, allowed: Collection[str]) -> str | None:
    """Return a text that must be one of ``allowed``; None is None.

    :raises roost.exception.Invalid: when it is not
    """
    if text is None or text in allowed:
        return text
    known = ", ".join(sorted(allowed))
    raise exception.Invalid(f"{name} is '{text}', but must be one of {known}.")


def _stripped(value: str | None) -> str | None:
    return None if value is None else value.strip()
