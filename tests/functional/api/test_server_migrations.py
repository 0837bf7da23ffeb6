"""The live migrations of a server that are under way: shown, aborted, made to end soon."""

import pytest

from roost import states
from roost.db.cell import models, operations
from tests.api_harness import ADMIN
from tests.builders import CELL1

NEWEST = "2.96"
FORCE = {"force_complete": None}


@pytest.fixture
def server(world):
    """A server that is migrated live."""
    made = world.place(CELL1, host="h1", vm_state=states.ACTIVE, task_state=None)
    body = {"os-migrateLive": {"host": None, "block_migration": "auto"}}
    path = f"/v2.1/servers/{made.uuid}/action"
    assert world.client.post(path, body, version=NEWEST, token=ADMIN).status_code == 202
    return made


def be_in(world, step):
    """Let the migration be in a step."""
    with world.databases[CELL1].begin() as session:
        session.execute(models.operations.update().values(step=step))


def asked(world, server):
    with world.databases[CELL1].read() as session:
        return operations.asked(session, operations.find(session, server.uuid))


def one(world, server):
    found = world.client.get(f"/v2.1/servers/{server.uuid}/migrations", version=NEWEST, token=ADMIN)
    (migration,) = found.json["migrations"]
    return migration, f"/v2.1/servers/{server.uuid}/migrations/{migration['id']}"


def test_what_is_under_way_is_shown_with_what_is_copied(world, server):
    shown, path = one(world, server)
    assert (shown["status"], shown["server_uuid"]) == ("preparing", server.uuid)
    assert (shown["source_compute"], shown["dest_compute"]) == ("h1", "new-host")
    assert shown["memory_total_bytes"] is None
    alone = world.client.get(path, version=NEWEST, token=ADMIN)
    assert alone.json == {"migration": shown}
    assert {"uuid", "user_id"} <= {*shown}


@pytest.mark.parametrize(
    ("step", "version", "status"),
    [
        ("describe", "2.64", 409),
        ("describe", "2.65", 202),
        ("transfer", "2.24", 202),
        ("look_at_source", "2.24", 202),  # its host has died, and the copy goes on
        ("look_at_destination", "2.65", 409),
        ("take_over", "2.65", 409),
        ("clear_room", "2.65", 409),
    ],
)
def test_it_is_aborted_before_the_guest_has_arrived(world, server, step, version, status):
    _shown, path = one(world, server)
    be_in(world, step)
    answer = world.client.delete(path, version=version, token=ADMIN)
    assert answer.status_code == status
    assert asked(world, server) == ("abort" if status == 202 else None)
    assert status == 202 or step in answer.text


@pytest.mark.parametrize(("step", "status"), [("make_room", 409), ("transfer", 202)])
def test_it_is_made_to_end_soon_while_it_copies(world, server, step, status):
    _shown, path = one(world, server)
    be_in(world, step)
    answer = world.client.post(f"{path}/action", FORCE, version="2.22", token=ADMIN)
    assert answer.status_code == status
    assert asked(world, server) == ("force_complete" if status == 202 else None)


def test_what_is_no_live_migration_under_way_is_not_found(world):
    server = world.place(CELL1, host="h1", vm_state=states.ACTIVE, task_state=None)
    path = f"/v2.1/servers/{server.uuid}/migrations"
    migrate = {"migrate": None}
    action = f"/v2.1/servers/{server.uuid}/action"
    assert world.client.post(action, migrate, version=NEWEST, token=ADMIN).status_code == 202
    assert world.client.get(path, version=NEWEST, token=ADMIN).json == {"migrations": []}
    for method in ("get", "delete"):
        answer = getattr(world.client, method)(f"{path}/1", version=NEWEST, token=ADMIN)
        assert answer.status_code == 404
