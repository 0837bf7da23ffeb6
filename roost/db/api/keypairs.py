"""Key pairs of users: names, types and public keys.

The number per user is limited. A transaction that adds one locks the user's row of owners first and
counts under this lock; so the count is exact, and no counter is stored.
"""

from collections.abc import Mapping

import sqlalchemy as sa

from roost import exception
from roost.db.api import models, quota
from roost.db.engine import Session
from roost.db.insert import insert_once
from roost.objects import Keypair

_keypairs = models.key_pairs
_owners = models.key_pair_owners
_STORED = tuple(name for name in Keypair.fields if name != "id")


def create(
    session: Session, keypair: Keypair, *, project_id: str, defaults: Mapping[str, int]
) -> Keypair:
    """Add a key pair, once; return it with its id.

    :param project_id: the project whose limit applies
    :param defaults: limits of resources for which the project has none of its own; -1: no limit
    :raises roost.exception.QuotaExceeded: when the user may not have one more
    :raises roost.exception.Conflict: when the user has one of this name
    """
    _lock(session, keypair.user_id)
    there = find(session, keypair.user_id, keypair.name)
    if there is not None and there.uuid == keypair.uuid:
        return there
    limits = quota.bounds(session, project_id, defaults, user_id=keypair.user_id)
    _check_quota(session, keypair.user_id, limits)
    if there is not None:
        raise exception.Conflict(f"Key pair '{keypair.name}' already exists.")
    values = {name: getattr(keypair, name) for name in _STORED}
    session.execute(sa.insert(_keypairs).values(values))
    return get(session, keypair.user_id, keypair.name)


def get(session: Session, user_id: str, name: str) -> Keypair:
    """Return a key pair.

    :raises roost.exception.NotFound: when the user has none of this name
    """
    found = find(session, user_id, name)
    if found is None:
        raise exception.NotFound(f"Keypair {name} not found for user {user_id}")
    return found


def find(session: Session, user_id: str, name: str) -> Keypair | None:
    query = sa.select(_keypairs).where(_keypairs.c.user_id == user_id, _keypairs.c.name == name)
    row = session.execute(query).one_or_none()
    return None if row is None else _keypair(row)


def list_of_user(
    session: Session, user_id: str, *, after: str | None = None, limit: int | None = None
) -> list[Keypair]:
    """Return a page of a user's key pairs, in order of their names.

    :param after: the name of the last one of the page before, which must exist
    :param limit: None: all of them
    :raises roost.exception.NotFound: when there is no key pair ``after``
    """
    query = sa.select(_keypairs).where(_keypairs.c.user_id == user_id)
    if after is not None:
        query = query.where(_keypairs.c.name > get(session, user_id, after).name)
    return [_keypair(row) for row in session.execute(query.order_by(_keypairs.c.name).limit(limit))]


def delete(session: Session, keypair: Keypair) -> None:
    """Delete this key pair, if it still exists; a new one of the same name stays."""
    session.execute(sa.delete(_keypairs).where(_keypairs.c.uuid == keypair.uuid))


def _lock(session: Session, user_id: str) -> None:
    """Lock the user's row, so that only this transaction adds key pairs of this user."""
    row = sa.select(_owners.c.user_id).where(_owners.c.user_id == user_id).with_for_update()
    if session.execute(row).first() is None:
        insert_once(session, _owners, {"user_id": user_id})
        session.execute(row)


def _check_quota(session: Session, user_id: str, limits: Mapping[str, int]) -> None:
    limit = limits["key_pairs"]
    query = sa.select(sa.func.count()).where(_keypairs.c.user_id == user_id)
    used = int(session.execute(query.select_from(_keypairs)).scalar_one())
    if 0 <= limit <= used:
        raise exception.QuotaExceeded(
            "Quota exceeded, too many key pairs.", limit=limit, used=used, user_id=user_id
        )


def _keypair(row: sa.Row[tuple[object, ...]]) -> Keypair:
    return Keypair.of(**row._mapping)  # noqa: SLF001 - SQLAlchemy's public name
