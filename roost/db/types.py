"""Column types that mean the same on SQLite, PostgreSQL and MariaDB/MySQL."""

import datetime
import json
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.engine import Dialect
from sqlalchemy.ext.compiler import compiles

Key = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
LongText = sa.Text().with_variant(mysql.LONGTEXT(), "mysql", "mariadb")


class Uuid(sa.types.TypeDecorator[str]):
    """A uuid as a string of 36 characters, compared byte by byte."""

    impl = sa.String(36)
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> Any:
        if dialect.name in ("mysql", "mariadb"):
            return dialect.type_descriptor(
                mysql.VARCHAR(36, charset="ascii", collation="ascii_bin")
            )
        return dialect.type_descriptor(sa.String(36))

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Replace characters beyond ASCII by "?", which no uuid has.

        MariaDB refuses to compare them with an ASCII column.
        """
        return None if value is None else value.encode("ascii", "replace").decode("ascii")


class StringList(sa.types.TypeDecorator[list[str]]):
    """A list of strings, as JSON; NULL is an empty list."""

    impl = LongText
    cache_ok = True

    def process_bind_param(self, value: list[str] | None, dialect: Dialect) -> str | None:
        return json.dumps(value) if value else None

    def process_result_value(self, value: Any, dialect: Dialect) -> list[str]:
        return json.loads(value) if value else []


as_json: Final = json.JSONEncoder(separators=(",", ":")).encode  # made once: it is frequent


class Json(sa.types.TypeDecorator[Any]):
    """A plain value, as JSON."""

    impl = LongText
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        return as_json(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


class UtcDateTime(sa.types.TypeDecorator[datetime.datetime]):
    """A time with microseconds, stored as UTC without time zone, returned with it."""

    impl = sa.DateTime
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> Any:
        if dialect.name in ("mysql", "mariadb"):
            return dialect.type_descriptor(mysql.DATETIME(fsp=6))
        return dialect.type_descriptor(sa.DateTime())

    def process_bind_param(
        self, value: datetime.datetime | None, dialect: Dialect
    ) -> datetime.datetime | None:
        if value is None:
            return None
        return value.astimezone(datetime.UTC).replace(tzinfo=None)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime.datetime | None:
        return None if value is None else value.replace(tzinfo=datetime.UTC)


def utcnow() -> datetime.datetime:
    """Return the local machine's time, with time zone."""
    return datetime.datetime.now(datetime.UTC)


class _DatabaseNow(sa.sql.functions.FunctionElement[datetime.datetime]):
    type = UtcDateTime()
    inherit_cache = True


_NOW: Final = _DatabaseNow()


def database_now() -> sa.ColumnElement[datetime.datetime]:
    """Return the database's clock, as a ``UtcDateTime``: one clock for all daemons that share it.

    Always the same object, by which statements are kept that are built once.
    """
    return _NOW


@compiles(_DatabaseNow)
def _now(element: Any, compiler: Any, **kwargs: Any) -> str:  # noqa: ARG001 - the hook's form
    return "timezone('utc', clock_timestamp())"


@compiles(_DatabaseNow, "mysql")
@compiles(_DatabaseNow, "mariadb")
def _now_mysql(element: Any, compiler: Any, **kwargs: Any) -> str:  # noqa: ARG001
    return "utc_timestamp(6)"


@compiles(_DatabaseNow, "sqlite")
def _now_sqlite(element: Any, compiler: Any, **kwargs: Any) -> str:  # noqa: ARG001
    return "strftime('%Y-%m-%d %H:%M:%f000', 'now')"
