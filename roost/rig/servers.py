"""The broker and the database server that a rig of real daemons stands on."""

import pathlib

from roost.rig import services
from roost.rig.plan import Plan
from roost.rig.services import DatabaseServer, RabbitMQ

FOUND = ("rabbitmq", "postgresql", "mariadb")


def find_broker(wanted: str, state: pathlib.Path) -> str:
    """Return the broker's URL: the one given, or that of the one on loopback or started now.

    :param wanted: ``rabbitmq``, or a URL
    """
    if wanted != "rabbitmq":
        return wanted.replace("amqp://", "rabbit://", 1)
    return services.find_or_start("rabbitmq", _folder(state)).url("")


def find_database(wanted: str, state: pathlib.Path) -> str:
    """Return the database server's URL: the one given, or that of the one found or started now.

    :param wanted: ``postgresql``, ``mariadb``, or a URL
    """
    if wanted not in FOUND:
        return wanted
    return services.find_or_start(wanted, _folder(state)).url("")


def create(plan: Plan) -> None:
    """Make the rig's virtual hosts and databases."""
    broker, database = _broker(plan), _database(plan)
    for level in plan.bus_levels:
        broker.create_vhost(plan.bus_name(level))
    for whose in plan.databases:
        database.create_database(plan.database_name(whose))


def remove(plan: Plan) -> None:
    """Remove them, and the servers themselves where they are the rig's own."""
    broker, database = _broker(plan), _database(plan)
    for level in plan.bus_levels:
        broker.delete_vhost(plan.bus_name(level))
    for whose in plan.databases:
        database.drop_database(plan.database_name(whose))
    for kind in FOUND:
        services.stop_private(kind, _folder(plan.state))


def _broker(plan: Plan) -> RabbitMQ:
    return RabbitMQ.at(plan.bus)


def _database(plan: Plan) -> DatabaseServer:
    return services.database_server(plan.database)


def _folder(state: pathlib.Path) -> pathlib.Path:
    return state / "services"
