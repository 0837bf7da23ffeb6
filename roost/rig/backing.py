"""The broker and the database server that a rig of real daemons stands on."""

import pathlib

from roost.rig import services
from roost.rig.plan import Plan
from roost.rig.services import MariaDB, PostgreSQL, RabbitMQ


def find_broker(wanted: str, state: pathlib.Path) -> str:
    """Return the broker's URL: the one given, or that of the one on loopback or started now.

    :param wanted: ``rabbitmq``, or a URL
    """
    if wanted == "rabbitmq":
        return services.find_or_start("rabbitmq", _folder(state)).url("")
    return wanted.replace("amqp://", "rabbit://", 1)


def find_database(wanted: str, state: pathlib.Path) -> str:
    """Return the database server's URL: the one given, or that of the one found or started now.

    :param wanted: ``postgresql``, ``mariadb``, or a URL
    """
    if wanted == "postgresql":
        return services.find_or_start("postgresql", _folder(state)).url("")
    if wanted == "mariadb":
        return services.find_or_start("mariadb", _folder(state)).url("")
    return wanted


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
    kind = PostgreSQL if plan.database.startswith("postgresql") else MariaDB
    if services.started(kind.kind, _folder(plan.state)):
        return kind.start(_folder(plan.state))
    return kind.at(plan.database)


def _folder(state: pathlib.Path) -> pathlib.Path:
    return state / "services"
