"""Real brokers and databases for tests and rigs: those at hand, else private ones.

>>> broker = services.RabbitMQ.find_or_start(state_dir)
>>> url = broker.create_vhost(services.unique_name("cell1"))
...
>>> broker.delete_vhost(name)
>>> broker.stop()                           # ends a private one, leaves any other alone

A service at its usual port on loopback is used if it lets us in. Else a private one is started from
the installed Debian packages, on free ports, as root or as anybody. Else a plain message says what
is missing. ROOST_TEST_RABBITMQ, ROOST_TEST_POSTGRESQL and ROOST_TEST_MARIADB may name others, as
URLs with user and password but without vhost or database.
"""

import uuid
from typing import Final

from roost.rig.services.mariadb import MariaDB
from roost.rig.services.postgresql import PostgreSQL
from roost.rig.services.private import PrivateService
from roost.rig.services.rabbitmq import RabbitMQ

__all__ = ["KINDS", "MariaDB", "PostgreSQL", "PrivateService", "RabbitMQ", "unique_name"]

KINDS: Final[dict[str, type[RabbitMQ | PostgreSQL | MariaDB]]] = {
    each.kind: each for each in (RabbitMQ, PostgreSQL, MariaDB)
}


def unique_name(prefix: str) -> str:
    """Return a name for a vhost or database that nobody else has."""
    return f"roost_{prefix}_{uuid.uuid4().hex[:10]}"
