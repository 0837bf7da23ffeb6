"""What PostgreSQL and MariaDB have in common: databases that are made and dropped by SQL."""

import os
import pathlib
from typing import ClassVar, Self

import sqlalchemy as sa

from roost import exception
from roost.rig.services.private import LOOPBACK, Address, Private, Service


class DatabaseServer(Service):
    """A database server on which databases can be made."""

    kind: ClassVar[str]
    driver: ClassVar[str]
    usual: ClassVar[Address]
    own_database: ClassVar[str]  # one that is always there, to connect to
    create: ClassVar[str]
    drop: ClassVar[str]

    @classmethod
    def find(cls) -> Self:
        """Return the server at its usual place.

        :raises roost.exception.Unavailable: when nobody is there, or does not let us in
        """
        found = cls(_named(f"ROOST_TEST_{cls.kind.upper()}", cls.usual.port) or cls.usual)
        found.check()
        return found

    @classmethod
    def at(cls, url: str) -> Self:
        """Return the server that a URL names; without a port it is the usual one.

        :raises roost.exception.Invalid: when the URL names no host or no user
        :raises roost.exception.Unavailable: when it does not let us in
        """
        found = cls(_address(url, said="--db", port=cls.usual.port))
        found.check()
        return found

    @classmethod
    def start(cls, state_dir: pathlib.Path) -> Self:
        """Start a private server, or take up the one that was started from ``state_dir``."""
        raise NotImplementedError

    def url(self, database: str) -> str:
        """Return the SQLAlchemy URL of a database."""
        address = self.address
        url = sa.URL.create(
            self.driver,
            username=address.user,
            password=address.password or None,
            host=address.host,
            port=address.port,
            database=database,
        )
        return url.render_as_string(hide_password=False)

    def create_database(self, name: str) -> str:
        """Make an empty database and return its URL."""
        self._execute(self.create.format(name=name))
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Remove a database, whoever is connected to it."""
        self._execute(self.drop.format(name=name))

    def check(self) -> None:
        """Make sure that the server lets us in.

        :raises roost.exception.Unavailable: when it does not
        """
        self._execute("SELECT 1")

    def _execute(self, statement: str) -> None:
        engine = sa.create_engine(
            self.url(self.own_database), isolation_level="AUTOCOMMIT", poolclass=sa.pool.NullPool
        )
        try:
            with engine.connect() as connection:
                connection.exec_driver_sql(statement)
        except sa.exc.OperationalError as error:
            raise self._refused("does not let us in", error) from error
        except sa.exc.DBAPIError as error:
            raise self._refused(f"does not let us run {statement}", error) from error

    def _refused(self, what: str, error: sa.exc.DBAPIError) -> exception.Unavailable:
        where = f"{self.address.host}:{self.address.port}"
        reason = str(error.orig).strip()
        return exception.Unavailable(f"{type(self).__name__} on {where} {what}: {reason}")


def private_address(private: Private, user: str) -> Address:
    return Address(LOOPBACK, private.details["port"], user)


def _named(variable: str, port: int) -> Address | None:
    url = os.environ.get(variable)
    return _address(url, said=variable, port=port) if url else None


def _address(text: str, *, said: str, port: int) -> Address:
    try:
        url = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError):
        url = sa.URL.create("none")
    if url.host is None or url.username is None:
        raise exception.Invalid(
            f"{said} must name user and host, like postgresql+psycopg://user:password@host:5432 or"
            " mysql+pymysql://user:password@host:3306"
        )
    return Address(url.host, url.port or port, url.username, url.password or "")
