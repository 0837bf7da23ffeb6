"""The broker and the database server that a rig of real daemons stands on."""

import dataclasses
import pathlib
import secrets
from collections.abc import Callable, Sequence
from typing import Any, Final

import sqlalchemy as sa

from roost import exception
from roost.rig import rights
from roost.rig.plan import Plan
from roost.rig.services import MariaDB, PostgreSQL, RabbitMQ
from roost.rig.services.private import note_of

_DATABASES: Final[dict[str, type[PostgreSQL | MariaDB]]] = {
    "postgresql": PostgreSQL,
    "mysql": MariaDB,
    "mariadb": MariaDB,
}


def find(*, bus: str, database: str, state: pathlib.Path) -> tuple[str, str]:
    """Return the URLs of the broker and the database server, both of which let us in.

    Those given, or those on loopback, or those started now. A broker that was started ends again
    when there is no database server.

    :param bus: ``rabbitmq``, or a URL
    :param database: ``postgresql``, ``mariadb``, or a URL
    :raises roost.exception.Invalid: for a URL that cannot be
    :raises roost.exception.Unavailable: when one does not let us in or cannot be started
    """
    broker = _find_broker(bus, state)
    try:
        return broker.url(""), _find_database(database, state)
    except exception.RoostError:
        broker.stop()
        raise


def _find_broker(wanted: str, state: pathlib.Path) -> RabbitMQ:
    if wanted == "rabbitmq":
        return RabbitMQ.find_or_start(_folder(state))
    return RabbitMQ.at(wanted)


def _find_database(wanted: str, state: pathlib.Path) -> str:
    if wanted in ("postgresql", "mariadb"):
        return _DATABASES[wanted].find_or_start(_folder(state)).url("")
    kind = _kind_of(wanted)
    port = kind.at(wanted).address.port
    whole = sa.make_url(wanted).set(drivername=kind.driver, port=port, database=None)
    return whole.render_as_string(hide_password=False)


def with_users(plan: Plan, *, say: Callable[[str], object]) -> Plan:
    """Return a plan whose daemons come as users of their own, if the servers let us make them.

    Who may make virtual hosts, as we must, may make users of a broker, too.
    """
    made: dict[str, Any] = {"bus_secrets": _passwords(plan.bus_users)}
    if _database(plan).may_create_users():
        made["database_secrets"] = _passwords([*plan.bus_levels, "scheduler"])
    else:
        say(
            f"{plan.database_host} does not let us make users: all daemons come as the owner of"
            " the databases"
        )
    return dataclasses.replace(plan, **made)


def create(plan: Plan) -> None:
    """Make the rig's virtual hosts and databases, and whoever may use them."""
    create_buses(plan, _broker(plan))
    create_databases(plan, _database(plan))


def create_buses(plan: Plan, broker: RabbitMQ) -> None:
    """Make the rig's virtual hosts, and whoever may use them; may be repeated."""
    passwords = {plan.bus_user(whose): secret for whose, secret in plan.bus_secrets.items()}
    if passwords:
        broker.allow(passwords, rights.on_buses(plan))
    else:
        for level in plan.bus_levels:
            broker.create_vhost(plan.bus_name(level))


def create_databases(plan: Plan, database: PostgreSQL | MariaDB) -> None:
    """Make the rig's databases, and whoever may use them."""
    for level, secret in plan.database_secrets.items():
        database.create_user(plan.database_user(level), secret)
    for whose in plan.databases:
        name = plan.database_name(whose)
        database.create_database(name)
        if plan.database_secrets:
            database.close_database(name, [plan.database_user(u) for u in plan.users_of(whose)])


def remove(plan: Plan) -> None:
    """Remove them; servers that were started for this rig end altogether."""
    broker, database = _broker(plan), _database(plan)
    remove_buses(plan, broker)
    remove_databases(plan, database)
    broker.stop()
    database.stop()


def remove_buses(plan: Plan, broker: RabbitMQ) -> None:
    """Remove the rig's virtual hosts, and the users."""
    for level in plan.bus_levels:
        broker.delete_vhost(plan.bus_name(level))
    if plan.bus_secrets:
        broker.delete_users([plan.bus_user(whose) for whose in plan.bus_secrets])


def remove_databases(plan: Plan, database: PostgreSQL | MariaDB) -> None:
    """Remove the rig's databases, and the users."""
    for whose in plan.databases:
        database.drop_database(plan.database_name(whose))
    for level in plan.database_secrets:
        database.drop_user(plan.database_user(level))


def _passwords(levels: Sequence[str]) -> dict[str, str]:
    return {level: secrets.token_urlsafe(18) for level in levels}


def _broker(plan: Plan) -> RabbitMQ:
    if note_of("rabbitmq", _folder(plan.state)).exists():
        return RabbitMQ.start(_folder(plan.state))
    return RabbitMQ.at(plan.bus)


def _database(plan: Plan) -> PostgreSQL | MariaDB:
    kind = _kind_of(plan.database)
    if note_of(kind.kind, _folder(plan.state)).exists():
        return kind.start(_folder(plan.state))
    return kind.at(plan.database)


def _kind_of(url: str) -> type[PostgreSQL | MariaDB]:
    backend = url.partition(":")[0].partition("+")[0]
    if backend not in _DATABASES:
        raise exception.Invalid(
            "--db must be postgresql, mariadb, or a URL like"
            " postgresql+psycopg://user:password@host or mysql+pymysql://user:password@host"
        )
    return _DATABASES[backend]


def _folder(state: pathlib.Path) -> pathlib.Path:
    return state / "services"
