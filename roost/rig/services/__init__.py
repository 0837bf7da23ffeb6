"""Real brokers and databases for tests and rigs: those at hand, else private ones.

>>> broker = services.find_or_start("rabbitmq", state_dir)
>>> url = broker.create_vhost(services.unique_name("cell1"))
...
>>> broker.delete_vhost(name)
>>> broker.stop()                           # ends a private one, leaves any other alone

A service at its usual port on loopback is used if it lets us in. Else a private one is started from
the installed Debian packages, on free ports, as root or as anybody. Else a plain message says what
is missing. ROOST_TEST_RABBITMQ, ROOST_TEST_POSTGRESQL, ROOST_TEST_MARIADB and ROOST_TEST_REDIS may
name others, as URLs with user and password but without vhost or database.
"""

import pathlib
import uuid
from typing import Final, Literal, overload

from roost import exception
from roost.rig.services.mariadb import MariaDB
from roost.rig.services.postgresql import PostgreSQL
from roost.rig.services.private import PrivateService, note_of
from roost.rig.services.rabbitmq import RabbitMQ
from roost.rig.services.redis import Redis

__all__ = [
    "KINDS",
    "MariaDB",
    "PostgreSQL",
    "PrivateService",
    "RabbitMQ",
    "Redis",
    "find",
    "find_or_start",
    "start",
    "started",
    "unique_name",
]

Kind = Literal["rabbitmq", "postgresql", "mariadb", "redis"]
KINDS: Final[tuple[Kind, ...]] = ("rabbitmq", "postgresql", "mariadb", "redis")
_SERVICES: Final[dict[str, type[RabbitMQ | PostgreSQL | MariaDB | Redis]]] = {
    "rabbitmq": RabbitMQ,
    "postgresql": PostgreSQL,
    "mariadb": MariaDB,
    "redis": Redis,
}


@overload
def find_or_start(kind: Literal["rabbitmq"], state_dir: pathlib.Path) -> RabbitMQ: ...
@overload
def find_or_start(kind: Literal["postgresql"], state_dir: pathlib.Path) -> PostgreSQL: ...
@overload
def find_or_start(kind: Literal["mariadb"], state_dir: pathlib.Path) -> MariaDB: ...
@overload
def find_or_start(kind: Literal["redis"], state_dir: pathlib.Path) -> Redis: ...
def find_or_start(kind: Kind, state_dir: pathlib.Path) -> RabbitMQ | PostgreSQL | MariaDB | Redis:
    """Return a service that lets us in, started if need be.

    :param state_dir: where the logs of private services are, and the notes by which a later call
        finds one that is left running
    :raises roost.exception.Unavailable: when there is none and none can be started; the message
        says what is missing
    """
    try:
        return find(kind)
    except exception.Unavailable as absent:
        try:
            return _SERVICES[kind].start(state_dir)
        except exception.Unavailable as missing:
            message = f"{absent.message}; and {missing.message}"
            raise exception.Unavailable(message) from missing


def find(kind: Kind) -> RabbitMQ | PostgreSQL | MariaDB | Redis:
    """Return the service at its usual port on loopback.

    :raises roost.exception.Unavailable: when nobody is there, or does not let us in
    """
    return _SERVICES[kind].find()


def start(kind: Kind, state_dir: pathlib.Path) -> RabbitMQ | PostgreSQL | MariaDB | Redis:
    """Start a private service whatever else runs, or return the one started from ``state_dir``.

    :raises roost.exception.Unavailable: when its packages are missing or it does not come up
    """
    return _SERVICES[kind].start(state_dir)


def started(kind: str, state_dir: pathlib.Path) -> bool:
    """Tell whether a private service was started from ``state_dir`` and not stopped since."""
    return note_of(kind, state_dir).exists()


def unique_name(prefix: str) -> str:
    """Return a name for a vhost or database that nobody else has."""
    return f"roost_{prefix}_{uuid.uuid4().hex[:10]}"
