"""Requests to evacuate a server from a host that is down for good."""

import pytest

from roost import states
from roost.db.api import cells
from roost.db.cell import migrations, services
from tests.api_harness import ADMIN, ALICE
from tests.builders import CELL1, CELL2
from tests.fakes.service_groups import COMPUTE, age, force_down

NEWEST = "2.96"


@pytest.fixture
def server(world):
    return world.place(CELL1, host="h1", vm_state=states.ACTIVE, task_state=None)


def evacuate(world, server, *, version="2.94", token=ADMIN, **arguments):
    path = f"/v2.1/servers/{server.uuid}/action"
    return world.client.post(path, {"evacuate": arguments}, version=version, token=token)


def refusal(answer):
    (said,) = answer.json.values()
    return answer.status_code, said["message"]


def test_a_server_is_to_be_created_again_on_a_host_that_is_claimed(world, server):
    force_down(world.databases[CELL1], "h1")
    answer = evacuate(world, server)
    assert (answer.status_code, answer.text) == (200, "")
    assert world.scheduler.moved == [([server.uuid], "h1", "new-host")]
    assert world.scheduler.asked[-1].ignore_hosts == ["h1"]
    row = world.instance(server.uuid)
    assert (row.vm_state, row.task_state, row.host) == ("active", "evacuating", "h1")
    with world.databases[CELL1].read() as session:
        move = migrations.unfinished(session, server.uuid)
    assert (move.migration_type, move.status, move.source_host, move.dest_host) == (
        *("evacuation", "migrating", "h1", "new-host"),
    )
    ((host, method, told),) = world.buses["fake://cell1/"].sent
    assert (host, method, told["operation"].step) == ("new-host", "run", "revive")
    assert told["password"]
    shown = world.client.get(f"/v2.1/servers/{server.uuid}", token=ALICE).json["server"]
    assert shown["status"] == "REBUILD"
    listed = world.client.get("/v2.1/os-migrations", version=NEWEST, token=ADMIN).json
    assert [each["migration_type"] for each in listed["migrations"]] == ["evacuation"]


def test_it_stays_on_a_host_that_nobody_knows(world):
    server = world.place(CELL1, host="renamed", vm_state=states.ACTIVE, task_state=None)
    status, why = refusal(evacuate(world, server))
    assert (status, why[:48]) == (400, "Compute service of renamed could not be found: n")


def test_it_stays_where_it_may_run(world, server):
    with world.databases[CELL1].begin() as session:
        services.report(session, host="h1", binary=COMPUTE)
    status, why = refusal(evacuate(world, server))
    assert (status, why[:50]) == (400, "Compute service of h1 is still in use: it was up a")
    with world.databases[CELL1].begin() as session:
        age(session, 3600, "h1")
        services.report(
            session, host="h2", binary="roost-cell-conductor"
        )  # which has heard nothing
    status, why = refusal(evacuate(world, server))
    assert (status, "force the service down first" in why) == (400, True)
    assert world.instance(server.uuid).task_state is None


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("h1", "The target host can't be the same one."),
        ("far", "Compute host far could not be found."),
        ("nowhere", "Compute host nowhere could not be found."),
    ],
)
def test_a_host_that_it_cannot_go_to_is_refused(world, server, host, why):
    with world.api_db.begin() as session:
        cells.map_host(session, "far", CELL2)
    force_down(world.databases[CELL1], "h1")
    assert refusal(evacuate(world, server, host=host)) == (400, why)


@pytest.mark.parametrize("vm_state", [states.PAUSED, states.RESCUED, states.RESIZED])
def test_in_other_states_it_is_refused(world, vm_state):
    server = world.place(CELL1, host="h1", vm_state=vm_state, task_state=None)
    force_down(world.databases[CELL1], "h1")
    status, why = refusal(evacuate(world, server))
    assert (status, f"vm_state {vm_state}" in why) == (409, True)


@pytest.mark.parametrize(("host", "status"), [("h1", 200), ("new-host", 409)])
def test_only_its_new_host_has_to_know_how(world, server, host, status):
    force_down(world.databases[CELL1], "h1")
    with world.databases[CELL1].begin() as session:
        services.report(session, host=host, binary=COMPUTE, version="1.6")
    assert evacuate(world, server).status_code == status


def test_only_administrators_may(world, server):
    force_down(world.databases[CELL1], "h1")
    assert evacuate(world, server, token=ALICE).status_code == 403
