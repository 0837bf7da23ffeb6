"""Microversions: negotiates the revision of Compute v2.1 that a request uses.

Inside the API a microversion is its minor number: 2.47 is 47.
"""

import re
from typing import Final

from roost import exception

MINIMUM: Final = 1
MAXIMUM: Final = 104
HEADER: Final = "OpenStack-API-Version"
LEGACY_HEADER: Final = "X-OpenStack-Nova-API-Version"
SERVICE: Final = "compute"
_FORM: Final = re.compile(r"([1-9][0-9]{0,8})\.([1-9][0-9]{0,8}|0)", re.ASCII)


class Malformed(ValueError):
    """The requested version is not a version at all."""


class NotOffered(ValueError):
    """A version that Roost does not offer."""


def negotiate(header: str | None, legacy: str | None) -> int:
    """Return the minor version that the two request headers ask for; neither: the minimum.

    :param header: ``OpenStack-API-Version``: ``service version`` pairs, comma separated
    :param legacy: ``X-OpenStack-Nova-API-Version``: the version alone
    :raises Malformed: when it is not a version
    :raises NotOffered: when it is out of our range
    """
    asked = asked_of(header, SERVICE) or (legacy or "").strip()
    if not asked:
        return MINIMUM
    if asked.lower() == "latest":
        return MAXIMUM
    found = _FORM.fullmatch(asked)
    if not found:
        raise Malformed(
            f"API Version String {asked} is of invalid format. Must be of format MajorNum.MinorNum."
        )
    major, minor = int(found[1]), int(found[2])
    if major != 2 or not MINIMUM <= minor <= MAXIMUM:  # noqa: PLR2004
        raise NotOffered(
            f"Version {asked} is not supported by the API. "
            f"Minimum is {name(MINIMUM)} and maximum is {name(MAXIMUM)}."
        )
    return minor


def offered(text: str) -> int:
    """Return the minor version of ``2.N`` or ``latest``.

    :raises roost.exception.Invalid: when we do not offer it
    """
    try:
        return negotiate(None, text)
    except (Malformed, NotOffered) as error:
        raise exception.Invalid(str(error)) from error


def name(minor: int) -> str:
    """Return the version as a string: 47 is 2.47."""
    return f"2.{minor}"


def asked_of(header: str | None, service: str) -> str | None:
    """Return the version that ``OpenStack-API-Version`` asks of a service; None: none."""
    for part in (header or "").split(","):
        pair = part.split()
        if pair and pair[0].lower() == service:
            return " ".join(pair[1:]) or "nothing"
    return None
