"""The key pair that a new server is asked for with: one of the caller's own."""

from collections.abc import Mapping
from typing import Any

from roost import exception
from roost.context import RequestContext
from roost.db.api import keypairs
from roost.db.engine import Database
from roost.objects import Keypair


def keypair_of(
    asked: Mapping[str, Any], context: RequestContext, database: Database
) -> Keypair | None:
    """Return the key pair as it is now: a server keeps it, whatever becomes of it.

    :raises roost.exception.Invalid: when the caller has none of this name
    """
    name = asked.get("key_name")
    if name is None:
        return None
    with database.read() as session:
        found = keypairs.find(session, str(context.user_id), name)
    if found is None:
        raise exception.Invalid("Invalid key_name provided.")
    return found
