"""Schema of the interfaces of a server."""

from typing import Any, Final

from roost.api.schemas.base import UUID, of, wrapped
from roost.api.schemas.server_tags import TAG
from roost.api.validation import Schema

_ADDRESS = of({"ip_address": {"type": "string", "format": "ip"}}, required=["ip_address"])
_ASKED: Final[dict[str, Any]] = {
    "net_id": UUID,
    "port_id": UUID,
    "fixed_ips": {"type": "array", "minItems": 1, "maxItems": 1, "items": _ADDRESS},
}
TAGGED: Final = 49

ATTACH: Final = Schema(
    {
        1: wrapped("interfaceAttachment", of(_ASKED)),
        TAGGED: wrapped("interfaceAttachment", of({**_ASKED, "tag": TAG})),
    }
)
