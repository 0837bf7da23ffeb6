"""Schemas of key pairs."""

from typing import Any, Final

from roost.api.schemas.base import PAGE, STRICT_QUERIES, TEXT, of, query, wrapped
from roost.api.validation import Schema

OWNERS: Final = 10  # since 2.10 administrators name the user
PAGES: Final = 35  # since 2.35 lists are paged
NO_MAKING: Final = 92  # since 2.92 public keys are given, and names have more characters


def _name(others: str) -> dict[str, Any]:
    """Return the schema of a name of letters, digits and some others; a blank only inside."""
    visible = f"[a-zA-Z0-9{others}_-]"
    return {
        "type": "string",
        "minLength": 1,
        "maxLength": 255,
        "pattern": rf"^{visible}([a-zA-Z0-9{others}_ -]*{visible})?$",
        "not": {"pattern": r"\n"},  # before which Python's $ matches, too
    }


_PLAIN_NAME: Final = _name("")
_PUBLIC_KEY: Final = {"type": "string", "maxLength": 65535}
_TYPE: Final = {"type": "string", "enum": ["ssh", "x509"]}
_FIRST: dict[str, Any] = {"name": _PLAIN_NAME, "public_key": _PUBLIC_KEY}
_TYPED = {**_FIRST, "type": _TYPE}
_OWNED = {**_TYPED, "user_id": TEXT}


def _create(properties: dict[str, Any], *required: str) -> Any:
    return wrapped("keypair", of(properties, required=["name", *required]))


CREATE: Final = Schema(
    {
        1: _create(_FIRST),
        2: _create(_TYPED),
        OWNERS: _create(_OWNED),
        NO_MAKING: _create({**_OWNED, "name": _name("@.")}, "public_key"),
    }
)
_USER: dict[str, Any] = {"user_id": TEXT}
ONE_QUERY: Final = Schema(
    {1: query({}), OWNERS: query(_USER), STRICT_QUERIES: query(_USER, strict=True)}
)
LIST_QUERY: Final = Schema(
    {
        1: query({}),
        OWNERS: query(_USER),
        PAGES: query({**PAGE, **_USER}),
        STRICT_QUERIES: query({**PAGE, **_USER}, strict=True),
    }
)
