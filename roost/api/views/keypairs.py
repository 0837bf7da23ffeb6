"""Key pairs as JSON."""

from typing import Any, Final

from roost.api.views.base import micros
from roost.objects import Keypair

TYPES: Final = 2  # since 2.2 there are types


def brief(keypair: Keypair, *, version: int) -> dict[str, Any]:
    """Return a key pair of a list."""
    shown = {"fingerprint": keypair.fingerprint, "name": keypair.name}
    if version >= TYPES:
        shown["type"] = keypair.type
    return {"keypair": {**shown, "public_key": keypair.public_key}}


def created(keypair: Keypair, private_key: str | None, *, version: int) -> dict[str, Any]:
    """Return a new key pair, with the private key if it was made here."""
    shown = _owned(keypair, version=version)
    if private_key is not None:
        shown["private_key"] = private_key
    return {"keypair": shown}


def full(keypair: Keypair, *, version: int) -> dict[str, Any]:
    """Return all that there is to know of a key pair; what was deleted is not there to be shown."""
    return {
        "keypair": {
            **_owned(keypair, version=version),
            "deleted": False,
            "created_at": micros(keypair.created_at),
            "updated_at": None,
            "deleted_at": None,
            "id": keypair.id,
        }
    }


def _owned(keypair: Keypair, *, version: int) -> dict[str, Any]:
    shown: dict[str, Any] = brief(keypair, version=version)["keypair"]
    return {**shown, "user_id": keypair.user_id}
