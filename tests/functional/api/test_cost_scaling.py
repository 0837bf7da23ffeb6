"""What is asked of one server costs its databases the same, however large the cloud is."""

import contextlib
import dataclasses
import json

import pytest
import sqlalchemy as sa

from roost import exception, states
from roost.api.dependencies import ApiOptions
from roost.api.microversions import MAXIMUM
from roost.api.servers import actions as server_actions
from roost.cells import cell
from roost.context import admin_context
from roost.db.api import cells
from roost.db.api import soft_delete as mappings
from roost.db.cell import instances, migrations, models, operations, ports, services
from roost.networks import LocalNetwork
from roost.objects import CellMapping, NetworkRequest
from roost.standalone.networking import LocalNetworking
from roost.standalone.tables import ROUTES
from tests import api_harness
from tests.api_harness import count_statements
from tests.builders import CELL1, CELL2, a_migration, a_uuid
from tests.fakes.service_groups import force_down
from tests.functional.api.sample_bodies import BODIES
from tests.functional.api.sample_requests import say_that_it_is_up

# Nothing has migrated yet, and there are no volumes.
NEVER = ("{migration_id}", "/os-volume_attachments")
ROUTES_OF_ONE = [
    route
    for route in ROUTES
    if "{server_id}" in route.path and not any(part in route.path for part in NEVER)
]
ACTION = "POST /v2.1/servers/{server_id}/action"
# What each action needs to be told, where that is something.
ARGUMENTS = {
    "reboot": {"type": "SOFT"},
    "createImage": {"name": "a"},
    "createBackup": {"name": "a", "backup_type": "daily", "rotation": 1},
    "rebuild": {"imageRef": api_harness.IMAGE},
    "changePassword": {"adminPass": "secret"},
    "os-resetState": {"state": "active"},
    "os-getConsoleOutput": {},
    "os-getVNCConsole": {"type": "novnc"},
    "os-getSPICEConsole": {"type": "spice-html5"},
    "os-getSerialConsole": {"type": "serial"},
    "addSecurityGroup": {"name": "default"},
    "removeSecurityGroup": {"name": "default"},
    "resize": {"flavorRef": api_harness.LARGER},
    "evacuate": {"onSharedStorage": False},
    "os-migrateLive": {"host": None, "block_migration": False, "disk_over_commit": False},
}
BEGINS = {
    "os-start": states.STOPPED,
    "unpause": states.PAUSED,
    "resume": states.SUSPENDED,
    "unrescue": states.RESCUED,
    "restore": states.SOFT_DELETED,
    "confirmResize": states.RESIZED,
    "revertResize": states.RESIZED,
    "shelveOffload": states.SHELVED,
    "unshelve": states.SHELVED,
}  # and all others when a server is active
NOBODY_HAS = {
    "os-getRDPConsole": "Hyper-V's",
    "injectNetworkInfo": "Xen's",
    **dict.fromkeys(("addFixedIp", "removeFixedIp"), "Neutron's"),
    **dict.fromkeys(("addFloatingIp", "removeFloatingIp"), "Neutron's"),
}
ACTIONS = sorted(
    {*server_actions.BODY.document(1)["properties"]} - {*NOBODY_HAS} | {"trigger_crash_dump"}
)
HOSTS, CELLS, SERVERS = 1000, 20, 300
NETWORK = LocalNetwork(name="private", cidr="10.0.0.0/20")
A_LITTLE_DEEPER = 1.25  # trees of indexes grow by a level from time to time


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    with _made(tmp_path_factory.mktemp("small")) as world:
        world.add_larger_flavor()
        yield world


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    with _made(tmp_path_factory.mktemp("large")) as world:
        world.add_larger_flavor()
        _grow(world)
        yield world


def _made(folder):
    filtering = LocalNetworking([api_harness.PRIVATE], filters=True)
    unlimited = ApiOptions(quota=api_harness.UNLIMITED)
    return api_harness.made_in(folder, unlimited, network_driver=filtering)


def _grow(world):
    """Add hosts to the first cell, servers to it, and cells, which share a database here.

    Each server is on a host of its own, has an address there, and a port by the API's books.
    """
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
    for number in range(SERVERS):
        _add_server(world, host=f"another{number}")


def _add_server(world, host):
    placed = world.place(CELL1, uuid=a_uuid(), host=host)
    asked = [NetworkRequest.of(network_id=None, fixed_ip=None, port_id=None, tag=None)]
    with world.databases[CELL1].begin() as session:
        ports.allocate(
            session, instance_uuid=placed.uuid, host=host, requests=asked, networks=[NETWORK]
        )


@pytest.mark.parametrize("route", ROUTES_OF_ONE, ids=lambda r: f"{r.method} {r.path}")
def test_a_request_about_one_server_costs_the_same_in_a_larger_cloud(small, large, route):
    body = BODIES[f"{route.method} {route.path}"] if route.body else None
    _costs_the_same(small, large, f"{route.method} {route.path}", body, minor=route.until)


@pytest.mark.parametrize("name", ACTIONS)
def test_an_action_costs_the_same_in_a_larger_cloud(small, large, name):
    state, body = BEGINS.get(name, states.ACTIVE), {name: ARGUMENTS.get(name)}
    minor = server_actions.ACTIONS[name].since
    _costs_the_same(small, large, ACTION, body, minor=minor, state=state)


def test_every_action_is_walked():
    later = {*server_actions.BODY.document(MAXIMUM)["properties"]}
    assert later <= {*ACTIONS, *NOBODY_HAS}
    assert {*ARGUMENTS, *BEGINS} <= {*ACTIONS}


def _costs_the_same(small, large, request, body, *, minor, state=states.ACTIVE):
    before = _cost(small, request, body, minor, state)
    after = _cost(large, request, body, minor, state)
    assert after.status == before.status < 300, after
    assert after.statements == before.statements
    assert after.sent == before.sent, after
    assert after.steps <= A_LITTLE_DEEPER * before.steps, after


@dataclasses.dataclass
class _Cost:
    """Statements, tens of steps in which SQLite has carried them out, and messages."""

    status: int = 0
    statements: list = dataclasses.field(default_factory=list)
    steps: int = 0
    sent: list = dataclasses.field(default_factory=list)


def _put(world, uuid, state):
    """Have a server be in a state, as if it had come there by requests."""
    if state == states.SOFT_DELETED:
        with world.api_db.begin() as session:
            noted = mappings.soft_delete(session, uuid)
        cell.settle_soft_delete(world.parts.cells.get(CELL1), world.api_db, admin_context(), noted)
    with world.databases[CELL1].begin() as session:
        of_it = sa.update(models.instances).where(models.instances.c.uuid == uuid)
        session.execute(of_it.values(vm_state=state, task_state=None, power_state=1))
        operations.preempt(session, uuid, "It has ended.")
        if state == states.RESIZED:
            host = instances.get(session, uuid).host
            moved = a_migration(instance_uuid=uuid, source_host="h9", dest_host=host)
            migrations.create(session, moved)


def _cost(world, request, body, minor, state):
    things = world.things()
    say_that_it_is_up(world, "h1")
    cost, (method, path) = _Cost(), request.format(**things).split()
    _put(world, things["server_id"], state)
    with pytest.raises(exception.NotFound):  # else mappings may be due to be read by the request
        world.parts.cells.get("none")
    buses = [world.api_bus, *world.buses.values()]
    for bus in buses:
        bus.sent.clear()
    with (
        _fenced(world, things["server_id"], body),
        count_statements(world) as counted,
        _count_steps(world, cost),
    ):
        answer = world.client.ask(
            method, path, version=f"2.{minor}", body="" if body is None else json.dumps(body)
        )
    cost.sent = [method for bus in buses for method in bus.methods()]
    cost.status, cost.statements = answer.status_code, counted.seen
    return cost


@contextlib.contextmanager
def _fenced(world, uuid, body):
    """Have the host of a server that is to be evacuated be forced down meanwhile."""
    if not (body and "evacuate" in body):
        yield
        return
    database = world.databases[CELL1]
    host = database.query(instances.get, uuid).host
    force_down(database, host)
    yield
    with database.begin() as session:
        for service in services.list_services(session, hosts=[host]):
            services.update(session, service.uuid, forced_down=False)


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
