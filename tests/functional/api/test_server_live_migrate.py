"""Requests to migrate a server to another host while it runs."""

import pytest

from roost import states
from roost.db.api import cells
from roost.db.cell import migrations
from tests.api_harness import ADMIN, ALICE
from tests.builders import CELL1, CELL2
from tests.fakes.service_groups import force_down

NEWEST = "2.96"


@pytest.fixture
def server(world):
    return world.place(CELL1, host="h1", vm_state=states.ACTIVE, task_state=None)


def migrate(world, server, *, version=NEWEST, token=ADMIN, host=None, **arguments):
    path = f"/v2.1/servers/{server.uuid}/action"
    asked = {"host": host, "block_migration": "auto", **arguments}
    return world.client.post(path, {"os-migrateLive": asked}, version=version, token=token)


def refusal(answer):
    (said,) = answer.json.values()
    return answer.status_code, said["message"]


def test_a_server_is_to_be_described_to_a_host_that_is_claimed(world, server):
    answer = migrate(world, server)
    assert (answer.status_code, answer.text) == (202, "")
    assert world.scheduler.moved == [([server.uuid], "h1", "new-host")]
    row = world.instance(server.uuid)
    assert (row.vm_state, row.task_state, row.host) == ("active", "migrating", "h1")
    with world.databases[CELL1].read() as session:
        move = migrations.unfinished(session, server.uuid)
    assert (move.migration_type, move.status, move.source_host, move.dest_host) == (
        *("live-migration", "preparing", "h1", "new-host"),
    )
    ((host, method, told),) = world.buses["fake://cell1/"].sent
    assert (host, method, told["operation"].step) == ("h1", "run", "describe")
    shown = world.client.get(f"/v2.1/servers/{server.uuid}", token=ALICE).json["server"]
    assert shown["status"] == "MIGRATING"


@pytest.mark.parametrize("vm_state", [states.STOPPED, states.SUSPENDED, states.ERROR])
def test_a_server_that_does_not_run_is_not_migrated_live(world, vm_state):
    server = world.place(CELL1, host="h1", vm_state=vm_state, task_state=None)
    status, why = refusal(migrate(world, server))
    assert (status, vm_state in why) == (409, True)


def test_neither_its_own_host_takes_it_nor_one_that_is_unknown_or_of_another_cell(world, server):
    with world.api_db.begin() as session:
        cells.map_host(session, "other-cell", CELL2)
    own = "Cannot migrate to the host where the server exists."
    assert refusal(migrate(world, server, host="h1")) == (400, own)
    for host in ("nowhere", "other-cell"):
        assert refusal(migrate(world, server, host=host)) == (
            400,
            f"Compute host {host} could not be found.",
        )


def test_it_does_not_begin_while_its_host_is_down(world, server):
    force_down(world.databases[CELL1], "h1")
    assert migrate(world, server).status_code == 409


def test_only_administrators_name_the_host(world, server):
    assert migrate(world, server, token=ALICE).status_code == 403
    assert migrate(world, server, force=True, version="2.30").status_code == 400
