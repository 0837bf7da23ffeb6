"""What requests about one server cost the API, in clouds of more and more hosts and servers."""

import sqlalchemy as sa

from roost.api import microversions
from roost.db.api import models as api_models
from roost.db.cell import models as cell_models
from roost.db.cell import services
from tests.builders import CELL1, a_uuid

SERVICES = (2, 100, 1_000, 5_000)  # rows in the cell of the server
SERVERS = (100, 10_000, 100_000)  # in that cell, too
AT_ONCE = 5_000  # rows that one statement inserts
ACTION = "/v2.1/servers/{server_id}/action"
# By name: method, path, body, and one that takes it back, so that it can be asked for again.
REQUESTS = {
    "GET server": ("GET", "/v2.1/servers/{server_id}", None, None),
    "PUT server": ("PUT", "/v2.1/servers/{server_id}", {"server": {"name": "b"}}, None),
    "GET actions": ("GET", "/v2.1/servers/{server_id}/os-instance-actions", None, None),
    "POST metadata": (
        *("POST", "/v2.1/servers/{server_id}/metadata"),
        *({"metadata": {"a": "c"}}, None),
    ),
    "lock, unlock": ("POST", ACTION, {"lock": None}, {"unlock": None}),
    "stop, reset": ("POST", ACTION, {"os-stop": None}, {"os-resetState": {"state": "active"}}),
}


def measure(world, timed):
    """Yield rows of a table: the CPU of each request, in cloud after cloud.

    :param timed: calls a function again and again, and returns the CPU ms of one call
    """
    # a server for each: what is done to one adds to its actions
    asks = {name: _asking(world, world.things(), *one) for name, one in REQUESTS.items()}
    like = world.things()["server_id"]
    for service_rows in SERVICES:
        _add_services(world, service_rows)
        yield _row(service_rows, _count(world), asks, timed)
    for servers in SERVERS:
        _add_servers(world, like, servers)
        yield _row(service_rows, servers, asks, timed)


def _row(service_rows, servers, asks, timed):
    return {
        "services": service_rows,
        "servers": servers,
        **{name: timed(ask) for name, ask in asks.items()},
    }


def _asking(world, words, method, path, *bodies):
    """Return a function that asks as an administrator, in the newest version."""

    def ask():
        for body in bodies:
            if body is not None or method == "GET":
                answer = world.client.ask(
                    method,
                    path.format(**words),
                    version=f"2.{microversions.MAXIMUM}",
                    json=body,
                )
                assert answer.status_code < 300, answer.text
            if method == "GET":
                return

    return ask


def _count(world):
    with world.databases[CELL1].read() as session:
        query = sa.select(sa.func.count()).select_from(cell_models.instances)
        return session.execute(query).scalar_one()


def _add_services(world, count):
    with world.databases[CELL1].begin() as session:
        for number in range(len(services.list_services(session)), count):
            services.report(session, host=f"another{number}", binary="roost-compute")


def _add_servers(world, like, count):
    """Add servers like one until there are so many, with their mappings."""
    missing = count - _count(world)
    while missing > 0:
        uuids = [a_uuid() for _ in range(min(missing, AT_ONCE))]
        _copy(world.databases[CELL1], cell_models.instances, "uuid", like, uuids)
        _copy(world.api_db, api_models.instance_mappings, "instance_uuid", like, uuids)
        missing -= len(uuids)


def _copy(database, table, key, like, uuids):
    with database.begin() as session:
        found = session.execute(sa.select(table).where(table.c[key] == like)).mappings().one()
        row = {name: value for name, value in found.items() if name != "id"}
        session.execute(sa.insert(table), [row | {key: uuid} for uuid in uuids])
