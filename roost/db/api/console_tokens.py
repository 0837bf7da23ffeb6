"""Digests of the tokens that open consoles of servers; a digest itself opens nothing.

They are in the API database, not with the cells, so that roost-consoleproxy needs only one
database, with a user that may read little else.
"""

import dataclasses
import datetime
from collections.abc import Collection

import sqlalchemy as sa

from roost.db import prepared
from roost.db.api import models
from roost.db.engine import Session
from roost.db.insert import insert_once

_tokens = models.console_tokens


@dataclasses.dataclass(frozen=True)
class ConsoleToken:
    """``host`` and ``port``: the address of the console listener that checks the token itself."""

    digest: str
    instance_uuid: str
    kind: str
    host: str
    port: int
    expires_at: datetime.datetime


def create(session: Session, token: ConsoleToken) -> None:
    """Add a token; one that is there already is fine."""
    insert_once(session, _tokens, dataclasses.asdict(token))


def find(session: Session, digest: str, *, now: datetime.datetime) -> ConsoleToken | None:
    """Return a token that has not expired."""
    query = sa.select(_tokens).where(_tokens.c.digest == digest, _tokens.c.expires_at > now)
    row = session.execute(query).one_or_none()
    return None if row is None else ConsoleToken(**row._mapping)  # noqa: SLF001 - a public name


def known(session: Session, digests: Collection[str]) -> set[str]:
    """Return those of some digests that are there, expired or not."""
    return set(session.scalars(sa.select(_tokens.c.digest).where(_tokens.c.digest.in_(digests))))


def release(session: Session, instance_uuid: str) -> None:
    """Delete the tokens of a deleted server."""
    prepared.delete(session, _tokens, {"instance_uuid": instance_uuid})


def expired(session: Session, *, now: datetime.datetime, limit: int) -> list[str]:
    """Return the digests of at most ``limit`` expired tokens, the oldest first."""
    query = sa.select(_tokens.c.digest).where(_tokens.c.expires_at <= now)
    return list(session.scalars(query.order_by(_tokens.c.expires_at).limit(limit)))


def forget(session: Session, digests: Collection[str]) -> None:
    """Delete tokens."""
    session.execute(sa.delete(_tokens).where(_tokens.c.digest.in_(digests)))
