"""What PostgreSQL and MariaDB have in common: databases that are made and dropped by SQL."""

import os
import pathlib
from collections.abc import Sequence
from typing import Any, ClassVar, Self

import sqlalchemy as sa

from roost import exception
from roost.rig.services.private import LOOPBACK, Private, PrivateService, ServiceAddress


class DatabaseServer(PrivateService):
    """A database server on which databases can be made."""

    driver: ClassVar[str]
    usual: ClassVar[ServiceAddress]
    own_database: ClassVar[str]  # one that is always there, to connect to
    create: ClassVar[str]
    drop: ClassVar[str]
    may_allow: ClassVar[str]  # asks for a row if we may make users
    make_user: ClassVar[Sequence[str]]
    remove_user: ClassVar[str]
    close: ClassVar[Sequence[str]]  # a database to all but its owner
    allow: ClassVar[Sequence[str]]  # a user to change rows, also of tables to come

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
    def start(cls, state_dir: pathlib.Path, *options: str) -> Self:
        """Start a private server, or take up the one that was started from ``state_dir``.

        :param options: more of them for its command line
        """
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

    def may_create_users(self) -> bool:
        """Tell whether it lets us make users, and give them rights."""
        return bool(self._execute(self.may_allow))

    def create_user(self, name: str, password: str) -> None:
        """Make a user without rights; may be repeated.

        :param password: of letters, digits, - and _ only
        """
        self._execute(*(each.format(name=name, password=password) for each in self.make_user))

    def drop_user(self, name: str) -> None:
        """Remove a user who has no rights any more; one that is gone already is no error."""
        self._execute(self.remove_user.format(name=name))

    def close_database(self, name: str, users: Sequence[str]) -> None:
        """Let only its owner, who we are, and users into a database, and those only change rows."""
        statements = [statement.format(name=name) for statement in self.close]
        for user in users:
            named = {"name": name, "pattern": _literal(name), "user": user}
            statements += [statement.format(**named) for statement in self.allow]
        self._execute(*statements, database=name)

    def check(self) -> None:
        """Make sure that the server lets us in.

        :raises roost.exception.Unavailable: when it does not
        """
        self._execute("SELECT 1")

    def _execute(self, *statements: str, database: str | None = None) -> list[Any]:
        """Return the rows of the last statement."""
        engine = sa.create_engine(
            self.url(database or self.own_database),
            isolation_level="AUTOCOMMIT",
            poolclass=sa.pool.NullPool,
            execution_options={"no_parameters": True},
        )
        try:
            with engine.connect() as connection:
                for statement in statements:
                    done = connection.exec_driver_sql(statement)
                return list(done) if done.returns_rows else []
        except sa.exc.OperationalError as error:
            raise self._refused("does not let us in", error) from error
        except sa.exc.DBAPIError as error:
            what = statement.partition(" PASSWORD ")[0].partition(" IDENTIFIED ")[0]
            raise self._refused(f"does not let us run {what}", error) from error

    def _refused(self, what: str, error: sa.exc.DBAPIError) -> exception.Unavailable:
        where = f"{self.address.host}:{self.address.port}"
        reason = str(error.orig).strip()
        return exception.Unavailable(f"{type(self).__name__} on {where} {what}: {reason}")


def _literal(name: str) -> str:
    """MariaDB reads the name of a database in a GRANT as a pattern."""
    return name.replace("_", r"\_")


def private_address(private: Private, user: str) -> ServiceAddress:
    return ServiceAddress(LOOPBACK, private.details["port"], user)


def _named(variable: str, port: int) -> ServiceAddress | None:
    url = os.environ.get(variable)
    return _address(url, said=variable, port=port) if url else None


def _address(text: str, *, said: str, port: int) -> ServiceAddress:
    try:
        url = sa.make_url(text)
    except (sa.exc.ArgumentError, ValueError):
        url = sa.URL.create("none")
    if url.host is None or url.username is None:
        raise exception.Invalid(
            f"{said} must name user and host, like postgresql+psycopg://user:password@host:5432 or"
            " mysql+pymysql://user:password@host:3306"
        )
    return ServiceAddress(url.host, url.port or port, url.username, url.password or "")
