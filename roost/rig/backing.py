"""The broker and the database server that a rig of real daemons stands on."""

import pathlib
from typing import Final

import sqlalchemy as sa

from roost import exception
from roost.rig import services
from roost.rig.plan import Plan
from roost.rig.services import MariaDB, PostgreSQL, RabbitMQ

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
        return services.find_or_start("rabbitmq", _folder(state))
    return RabbitMQ.at(wanted)


def _find_database(wanted: str, state: pathlib.Path) -> str:
    if wanted == "postgresql":
        return services.find_or_start("postgresql", _folder(state)).url("")
    if wanted == "mariadb":
        return services.find_or_start("mariadb", _folder(state)).url("")
    kind = _kind_of(wanted)
    port = kind.at(wanted).address.port
    whole = sa.make_url(wanted).set(drivername=kind.driver, port=port, database=None)
    return whole.render_as_string(hide_password=False)


def create(plan: Plan) -> None:
    """Make the rig's virtual hosts and databases."""
    broker, database = _broker(plan), _database(plan)
    for level in plan.bus_levels:
        broker.create_vhost(plan.bus_name(level))
    for whose in plan.databases:
        database.create_database(plan.database_name(whose))


def remove(plan: Plan) -> None:
    """Remove them; servers that were started for this rig end altogether."""
    broker, database = _broker(plan), _database(plan)
    for level in plan.bus_levels:
        broker.delete_vhost(plan.bus_name(level))
    for whose in plan.databases:
        database.drop_database(plan.database_name(whose))
    broker.stop()
    database.stop()


def _broker(plan: Plan) -> RabbitMQ:
    if services.started("rabbitmq", _folder(plan.state)):
        return RabbitMQ.start(_folder(plan.state))
    return RabbitMQ.at(plan.bus)


def _database(plan: Plan) -> PostgreSQL | MariaDB:
    kind = _kind_of(plan.database)
    if services.started(kind.kind, _folder(plan.state)):
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
