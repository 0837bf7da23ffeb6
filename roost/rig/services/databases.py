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
        found = cls(_named(f"ROOST_TEST_{cls.kind.upper()}") or cls.usual)
        found.check()
        return found

    @classmethod
    def at(cls, url: str) -> Self:
        """Return the server that a URL names.

        :raises roost.exception.Unavailable: when it does not let us in
        """
        found = cls(_address(url, said="the URL of a database server"))
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
            where = f"{self.address.host}:{self.address.port}"
            reason = str(error.orig).strip()
            raise exception.Unavailable(
                f"{type(self).__name__} on {where} does not let us in: {reason}"
            ) from error


def private_address(private: Private, user: str) -> Address:
    return Address(LOOPBACK, private.details["port"], user)


def _named(variable: str) -> Address | None:
    url = os.environ.get(variable)
    return _address(url, said=variable) if url else None


def _address(text: str, *, said: str) -> Address:
    url = sa.make_url(text)
    if url.host is None or url.port is None or url.username is None:
        raise exception.Invalid(f"{said} must name user, host and port: {url!r}")
    return Address(url.host, url.port, url.username, url.password or "")
