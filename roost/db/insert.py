"""Inserts a row unless it exists, so that a repeated step does not fail its transaction."""

import functools
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from oslo_db import exception as db_exception
from sqlalchemy.dialects import postgresql, sqlite

from roost.db.engine import Session

_SAYING_SO: dict[str, Any] = {"postgresql": postgresql.insert, "sqlite": sqlite.insert}


def insert_once(session: Session, table: sa.Table, values: Mapping[str, Any]) -> bool:
    """Insert a row, as :func:`insert_new` does; return whether it is new."""
    return insert_new(session, table, values) is not None


def insert_new(session: Session, table: sa.Table, values: Mapping[str, Any]) -> Any:
    """Insert a row; return its primary key, or None when one with the same unique key exists.

    SQL expressions among ``values`` are constants: the statement is kept by their identity.

    MariaDB and MySQL could ignore the conflict only together with every other error. There a
    failed statement does not abort the transaction, so the error itself is caught.
    """
    given = {name: each for name, each in values.items() if isinstance(each, sa.ClauseElement)}
    plain = {name: each for name, each in values.items() if name not in given}
    statement = _insert(session.dialect.name, table, tuple(given.items()))
    if session.dialect.name in _SAYING_SO:
        return session.execute(statement, plain).scalar()
    try:
        key: Any = session.execute(statement, plain).inserted_primary_key
    except db_exception.DBDuplicateEntry:
        return None
    return key[0]


@functools.lru_cache(maxsize=1000)
def _insert(dialect: str, table: sa.Table, given: tuple[tuple[str, sa.ClauseElement], ...]) -> Any:
    """Return the statement with these expressions; its parameters are other columns."""
    insert = _SAYING_SO.get(dialect, sa.insert)(table)
    statement = insert.values(dict(given)) if given else insert
    if dialect not in _SAYING_SO:
        return statement
    return statement.on_conflict_do_nothing().returning(*table.primary_key)
