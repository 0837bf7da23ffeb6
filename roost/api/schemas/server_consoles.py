"""The body of a request for a remote console."""

from typing import Any, Final

from roost.api.schemas.base import EVER, of, wrapped
from roost.api.validation import Document, grown

_PROTOCOLS: Final = ("vnc", "spice", "rdp", "serial")
_TYPES: Final = ("novnc", "xvpvnc", "rdp-html5", "spice-html5", "serial")
_MKS: Final = ("webmks",)
_DIRECT: Final = ("spice-direct",)


def kind(*words: str) -> Document:
    """Return the schema of one of some words."""
    return {"type": "string", "enum": [*words]}


# Since when and until when there is a property, and its schema.
_CREATE: Final[tuple[tuple[int, int, str, Document], ...]] = (
    (6, 7, "protocol", kind(*_PROTOCOLS)),
    (6, 7, "type", kind(*_TYPES)),
    (8, EVER, "protocol", kind(*_PROTOCOLS, "mks")),
    (8, 98, "type", kind(*_TYPES, *_MKS)),
    (99, EVER, "type", kind(*_TYPES, *_MKS, *_DIRECT)),
)


def _console(_minor: int, found: dict[str, Any]) -> Document:
    return wrapped("remote_console", of(found, required=["protocol", "type"]))


CREATE: Final = grown(_CREATE, _console)
