"""The body of an action on a server: one name, and what it needs."""

from typing import Any, Final

from roost.api.schemas.base import BOOLEAN, EVER, MAX_INTEGER, NAME, OPTIONAL_TEXT, UUID, number, of
from roost.api.schemas.server_consoles import kind
from roost.api.schemas.server_metadata import METADATA
from roost.api.schemas.servers import (
    CERTIFICATES,
    FILES,
    FQDN_WORD,
    HOSTNAME_WORD,
    IP4,
    IP6,
    USER_DATA,
)
from roost.api.validation import Document, grown

_SOFT: Final = ("SOFT", "Soft", "soft")
_HARD: Final = ("HARD", "Hard", "hard")
_REBOOT: Final = of({"type": {"type": "string", "enum": [*_SOFT, *_HARD]}}, required=["type"])
_REASON: Final = {"type": "string", "minLength": 1, "maxLength": 255}
_LOCK: Final = {**of({"locked_reason": _REASON}), "type": ["object", "null"]}
_STATE: Final = of({"state": {"type": "string", "enum": ["active", "error"]}}, required=["state"])
# Lines; -1: all that there are.
_LENGTH: Final = {
    "type": ["integer", "string", "null"],
    "pattern": "^-?[0-9]{1,9}$",
    "minimum": -1,
    "maximum": MAX_INTEGER,
}

_GROUP: Final = of(
    {"name": {"type": "string", "minLength": 1, "maxLength": 255}}, required=["name"]
)
_NETWORK: Final = {"type": ["string", "integer"], "minLength": 1, "maxLength": 255}
_IP: Final = {"type": "string", "format": "ip"}
_PASSWORD: Final = {"type": "string", "maxLength": 255}
_RESCUE: Final = {
    **of({"adminPass": _PASSWORD, "rescue_image_ref": UUID}),
    "type": ["object", "null"],
}
_CHANGE_PASSWORD: Final = of({"adminPass": _PASSWORD}, required=["adminPass"])
# Until 2.5 each kind of console had an action; what it may be, by the action's name.
_CONSOLES: Final = {
    "os-getVNCConsole": kind("novnc", "xvpvnc"),
    "os-getSPICEConsole": kind("spice-html5"),
    "os-getRDPConsole": kind("rdp-html5"),
    "os-getSerialConsole": kind("serial"),
}
_CREATE_IMAGE: Final = of({"name": NAME, "metadata": METADATA}, required=["name"])
_CREATE_BACKUP: Final = of(
    {
        "name": NAME,
        "backup_type": {"type": "string", "maxLength": 255},
        "rotation": number(0),
        "metadata": METADATA,
    },
    required=["name", "backup_type", "rotation"],
)
# What a rebuild may name, by the microversions that have it.
_REBUILD: Final[tuple[tuple[int, int, str, Document], ...]] = (
    (1, EVER, "imageRef", UUID),
    (1, EVER, "name", NAME),
    (1, EVER, "adminPass", _PASSWORD),
    (1, EVER, "metadata", METADATA),
    (1, EVER, "preserve_ephemeral", BOOLEAN),
    (1, EVER, "OS-DCF:diskConfig", {"type": "string", "enum": ["AUTO", "MANUAL"]}),
    (1, EVER, "accessIPv4", IP4),
    (1, EVER, "accessIPv6", IP6),
    (1, 56, "personality", FILES),
    (19, EVER, "description", OPTIONAL_TEXT),
    (54, EVER, "key_name", {**OPTIONAL_TEXT, "minLength": 1}),
    (57, EVER, "user_data", USER_DATA),
    (63, EVER, "trusted_image_certificates", CERTIFICATES),
    (90, 93, "hostname", HOSTNAME_WORD),
    (94, EVER, "hostname", FQDN_WORD),
)
_REBUILDS: Final = grown(_REBUILD, lambda _minor, found: of(found, required=["imageRef"])).documents


def _rebuilds() -> list[tuple[int, int, str, Document]]:
    """Return a row for each range of versions whose rebuilds differ."""
    begins = sorted(_REBUILDS)
    ends = [*(later - 1 for later in begins[1:]), EVER]
    return [
        (first, last, "rebuild", _REBUILDS[first]) for first, last in zip(begins, ends, strict=True)
    ]


# (since, until, action, schema); of those that have no arguments clients send null or {}
_ACTIONS: Final[tuple[tuple[int, int, str, Document], ...]] = (
    (1, EVER, "os-start", {}),
    (1, EVER, "os-stop", {}),
    (1, EVER, "reboot", _REBOOT),
    (1, EVER, "pause", {}),
    (1, EVER, "unpause", {}),
    (1, EVER, "suspend", {}),
    (1, EVER, "resume", {}),
    *_rebuilds(),
    (1, EVER, "createImage", _CREATE_IMAGE),
    (1, EVER, "createBackup", _CREATE_BACKUP),
    (1, EVER, "rescue", _RESCUE),
    (1, EVER, "unrescue", {}),
    (1, EVER, "changePassword", _CHANGE_PASSWORD),
    (1, 72, "lock", {}),
    (73, EVER, "lock", _LOCK),
    (1, EVER, "unlock", {}),
    (1, EVER, "os-resetState", _STATE),
    (1, EVER, "injectNetworkInfo", {}),
    (1, EVER, "os-getConsoleOutput", of({"length": _LENGTH})),
    *((1, 5, name, of({"type": each}, required=["type"])) for name, each in _CONSOLES.items()),
    (1, EVER, "forceDelete", {}),
    (1, EVER, "restore", {}),
    (1, EVER, "addSecurityGroup", _GROUP),
    (1, EVER, "removeSecurityGroup", _GROUP),
    (1, 43, "addFixedIp", of({"networkId": _NETWORK}, required=["networkId"])),
    (1, 43, "removeFixedIp", of({"address": _IP}, required=["address"])),
    (1, 43, "addFloatingIp", of({"address": _IP, "fixed_address": _IP}, required=["address"])),
    (1, 43, "removeFloatingIp", of({"address": _IP}, required=["address"])),
)


def _one(_minor: int, actions: dict[str, Any]) -> Document:
    """Let a body name one action. What is none of these is refused by its name."""
    return {"type": "object", "properties": actions, "minProperties": 1, "maxProperties": 1}


ACTION: Final = grown(_ACTIONS, _one)
# What Compute has, and this cloud does not: action -> the microversion that it came with.
LACKING: Final = {
    **dict.fromkeys(("resize", "confirmResize", "revertResize"), 1),
    **dict.fromkeys(("migrate", "os-migrateLive", "evacuate"), 1),
    **dict.fromkeys(("shelve", "shelveOffload", "unshelve"), 1),
    "trigger_crash_dump": 17,
}
KNOWN: Final = frozenset({name for _since, _until, name, _schema in _ACTIONS} | {*LACKING})
