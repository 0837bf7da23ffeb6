"""Inserts a row unless it exists, so that a repeated step does not fail its transaction."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exception
from sqlalchemy.dialects import postgresql, sqlite

from roost.db.engine import Session

_SAYING_SO: dict[str, Any] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}


def insert_once(session: Session, table: sa.Table, values: Mapping[str, Any]) -> bool:
    """Insert a row; False when one with the same unique key exists.

    MariaDB and MySQL could ignore the conflict only together with every other error. There a
    failed statement does not abort the transaction, so the error itself is caught.
    """
    insert = _SAYING_SO.get(session.dialect.name)
    if insert is not None:
        unless_there = insert(table).values(**values).on_conflict_do_nothing()
        return session.execute(unless_there.returning(*table.primary_key)).first() is not None
    try:
        session.execute(sa.insert(table).values(**values))
    except db_exception.DBDuplicateEntry:
        return False
    return True
