"""Single ports of the local driver: they come and go with the rows that say so."""

import pytest

from roost import exception, states
from roost.conductor.cell.interfaces import Interfaces
from roost.db.cell import instances, migrations, operations, ports
from roost.db.cell import models as cell_models
from roost.networks import parse
from roost.objects import NetworkRequest
from roost.operations.kinds import MIGRATE
from tests.builders import a_migration, a_uuid, an_instance
from tests.unit.db.test_cell import an_action

NETWORKS = parse(["private=10.0.0.0/29"])


@pytest.fixture
def interfaces(make_database):
    return Interfaces(make_database("cell", cell_models.metadata), NETWORKS)


@pytest.fixture
def server(interfaces):
    return place(interfaces)


def place(interfaces, **values):
    made = an_instance(**{"vm_state": states.ACTIVE, "task_state": None, "host": "h1"} | values)
    with interfaces.database.begin() as session:
        instances.create(session, made)
    return made.uuid


def attach(interfaces, uuid, *, key=None, host="h1", fixed_ip=None):
    request = NetworkRequest.of(network_id=None, fixed_ip=fixed_ip, port_id=None, tag="nic")
    return interfaces.attach(uuid, host, request, key=key or a_uuid())


def held(interfaces, uuid):
    """Return the ids of ports by the row of their instance, and by their own."""
    with interfaces.database.read() as session:
        row = instances.get(session, uuid).network_info
        own = ports.info(session, uuid, networks=NETWORKS)
    return [[vif.id for vif in info.vifs] if info else [] for info in (row, own)]


def test_ports_come_one_after_the_other_and_the_row_says_so(interfaces, server):
    keys = [attach(interfaces, server).id for _ in range(2)]
    assert held(interfaces, server) == [keys, keys]


def test_the_same_request_twice_makes_one_port(interfaces, server):
    key = a_uuid()
    assert attach(interfaces, server, key=key) == attach(interfaces, server, key=key)
    assert held(interfaces, server) == [[key], [key]]


def test_a_port_goes_once_and_the_others_stay(interfaces, server):
    first, second = (attach(interfaces, server).id for _ in range(2))
    for _ in range(2):
        interfaces.detach(server, "h1", first)
        assert held(interfaces, server) == [[second], [second]]
    assert attach(interfaces, server).id not in (first, second)


def test_what_was_detached_does_not_come_back_with_a_move(interfaces):
    network = NetworkRequest.of(network_id=None, fixed_ip=None, port_id=None, tag=None)
    uuid = place(
        interfaces,
        networks=[network],
        host="h1",
        vm_state=states.BUILDING,
        task_state=states.NETWORKING,
    )
    (detached,) = interfaces.allocate(uuid, "h1", 0).vifs
    with interfaces.database.begin() as session:
        built = {"vm_state": states.ACTIVE, "task_state": None}
        instances.update(session, uuid, built, expected={})
    interfaces.detach(uuid, "h1", detached.id)
    migration = a_migration(instance_uuid=uuid, source_host="h1", dest_host="h2")
    with interfaces.database.begin() as session:
        migrations.create(session, migration)
        operations.start(
            session, MIGRATE, an_action(uuid), uuid=migration.uuid, migration=migration
        )
    assert interfaces.allocate(uuid, "h2", 0).vifs == []


@pytest.mark.parametrize(
    "state",
    [
        {"host": "h2"},
        {"vm_state": states.ERROR},
        {"vm_state": states.BUILDING, "task_state": states.SPAWNING},
    ],
)
def test_a_server_that_moved_or_is_in_no_state_for_it_gets_none(interfaces, state):
    uuid = place(interfaces, **state)
    with pytest.raises(exception.Conflict):
        attach(interfaces, uuid)
    assert held(interfaces, uuid) == [[], []]
