"""What is asked of one server costs its databases the same, however large the cloud is."""

import contextlib
import dataclasses
import json

import pytest
import sqlalchemy as sa

from roost.api.parts import Options
from roost.api.routes import ROUTES
from roost.db.api import cells
from roost.db.cell import services
from roost.objects import CellMapping
from tests import api_world
from tests.api_world import count_statements
from tests.builders import CELL1, CELL2, a_uuid
from tests.functional.api.good_bodies import BODIES

# Nothing has migrated yet.
ROUTES_OF_ONE = [
    route for route in ROUTES if "{server_id}" in route.path and "{migration_id}" not in route.path
]
ACTION = "POST /v2.1/servers/{server_id}/action"
ACTIONS = [
    *({name: None} for name in ("os-stop", "pause", "suspend", "lock", "unlock", "forceDelete")),
    {"reboot": {"type": "SOFT"}},
    {"createImage": {"name": "a"}},
    {"createBackup": {"name": "a", "backup_type": "daily", "rotation": 1}},
    {"rebuild": {"imageRef": api_world.IMAGE}},
    {"rescue": None},
    {"os-resetState": {"state": "active"}},
    {"addSecurityGroup": {"name": "default"}},
]
HOSTS, CELLS, SERVERS = 1000, 20, 300
A_LITTLE_DEEPER = 1.25  # trees of indexes grow by a level from time to time


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    with _made(tmp_path_factory.mktemp("small")) as world:
        yield world


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    with _made(tmp_path_factory.mktemp("large")) as world:
        _grow(world)
        yield world


def _made(folder):
    unlimited = Options(quota=dict.fromkeys(Options().quota, -1))
    return api_world.made_in(folder, unlimited)


def _grow(world):
    """Add hosts to the first cell, servers to it, and cells, which share a database here."""
    with world.databases[CELL1].begin() as session:
        for number in range(HOSTS):
            services.report(session, host=f"another{number}", binary="roost-compute")
    with world.api_db.begin() as session:
        for number in range(CELLS):
            one = CellMapping(
                uuid=a_uuid(),
                name=f"another{number}",
                transport_url=None,
                database_url=world.databases[CELL2].url,
                disabled=False,
            )
            cells.create(session, one)
    for _ in range(SERVERS):
        world.place(CELL1, uuid=a_uuid(), host="h1")


@pytest.mark.parametrize("route", ROUTES_OF_ONE, ids=lambda r: f"{r.method} {r.path}")
def test_a_request_about_one_server_costs_the_same_in_a_larger_cloud(small, large, route):
    body = BODIES[f"{route.method} {route.path}"] if route.body else None
    _costs_the_same(small, large, f"{route.method} {route.path}", body, minor=route.until)


@pytest.mark.parametrize("body", ACTIONS, ids=lambda body: next(iter(body)))
def test_an_action_costs_the_same_in_a_larger_cloud(small, large, body):
    _costs_the_same(small, large, ACTION, body, minor=2)


def _costs_the_same(small, large, request, body, *, minor):
    before, after = _cost(small, request, body, minor), _cost(large, request, body, minor)
    assert after.status == before.status < 300, after
    assert len(after.statements) == len(before.statements), after
    assert after.steps <= A_LITTLE_DEEPER * before.steps, after


@dataclasses.dataclass
class _Cost:
    """Statements, and tens of steps in which SQLite has carried them out."""

    status: int = 0
    statements: list = dataclasses.field(default_factory=list)
    steps: int = 0


def _cost(world, request, body, minor):
    cost, (method, path) = _Cost(), request.format(**world.things()).split()
    world.parts.cells.all()  # mappings are read from time to time, not by each request
    with count_statements(world) as counted, _count_steps(world, cost):
        answer = world.client.ask(
            method, path, version=f"2.{minor}", body="" if body is None else json.dumps(body)
        )
    cost.status, cost.statements = answer.status_code, counted.seen
    return cost


@contextlib.contextmanager
def _count_steps(world, cost):
    """Count what all databases do within the block, whether or not rows come of it."""

    def step():
        cost.steps += 1

    def begin(connection, *_more):
        connection.set_progress_handler(step, 10)

    engines = [database.engine for database in (world.api_db, *world.databases.values())]
    for engine in engines:
        sa.event.listen(engine, "checkout", begin)
    try:
        yield
    finally:
        for engine in engines:
            sa.event.remove(engine, "checkout", begin)
