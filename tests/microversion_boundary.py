"""Asking on both sides of a microversion: at the one before, and at its own.

What asks is a function of a version, such as ``2.47``.
"""

from roost import states
from roost.db.api import build_requests
from roost.db.cell import actions, migrations, models
from roost.objects import InstanceAction, InstanceActionEvent
from tests.api_harness import ADMIN, ALICE, IMAGE
from tests.builders import CELL1, NOW, a_uuid
from tests.fakes.service_groups import force_down

TAGGED_DISK = {
    "uuid": IMAGE,
    "source_type": "image",
    "destination_type": "local",
    "boot_index": 0,
    "tag": "disk",
}
_NO_NETWORKS = 37  # since 2.37 a new server says which networks


def around(minor, ask):
    """Return what ``ask`` returns for the version before, and for the version."""
    return ask(f"2.{minor - 1}"), ask(f"2.{minor}")


def statuses(minor, ask):
    """Return the statuses of the answers on both sides."""
    return tuple(answer.status_code for answer in around(minor, ask))


def fields(minor, ask):
    """Return the names that an object has lost with a microversion, and those it has gained."""
    before, after = around(minor, ask)
    return set(before) - set(after), set(after) - set(before)


def asking(client, request, body=None, token=ADMIN):
    """Return what sends a request, such as ``GET /v2.1/flavors``."""
    method, path = request.split(" ", 1)
    sent = {} if body is None else {"json": body}
    return lambda version: client.ask(method, path, version=version, token=token, **sent)


def told(client, path, *keys, token=ADMIN):
    """Return what gets a path, and of its answer what is under these keys."""

    def ask(version):
        answer = client.get(path, version=version, token=token)
        assert answer.status_code == 200, answer.text
        found = answer.json
        for key in keys:
            found = found[key]
        return found

    return ask


def active(world, cell=CELL1, **values):
    """Place a server of Alice's project that runs, and return it."""
    usual = {"vm_state": states.ACTIVE, "task_state": None, "host": "h1", "uuid": a_uuid()}
    return world.place(cell, **usual | values)


def evacuating(world, **arguments):
    """Return what evacuates a new server each time, from a host that is forced down."""
    force_down(world.databases[CELL1], "dead")

    def ask(version):
        path = f"/v2.1/servers/{active(world, host='dead').uuid}/action"
        return world.client.post(path, {"evacuate": arguments}, version=version, token=ADMIN)

    return ask


def unshelving(world, **arguments):
    """Return what unshelves a new server each time, which is on no host."""
    shelved = {"vm_state": states.SHELVED_OFFLOADED, "shelved_image_id": IMAGE, "host": None}

    def ask(version):
        path = f"/v2.1/servers/{active(world, **shelved).uuid}/action"
        return world.client.post(path, {"unshelve": arguments}, version=version, token=ADMIN)

    return ask


def migrating_live(world, **arguments):
    """Return what migrates a new server each time while it runs."""

    def ask(version):
        path = f"/v2.1/servers/{active(world).uuid}/action"
        return world.client.post(path, {"os-migrateLive": arguments}, version=version, token=ADMIN)

    return ask


def live_migrations(world, request, body=None, *, step="transfer"):
    """Return what asks something of a new live migration each time, which is in a step."""
    method, _, rest = request.partition(" ")
    auto = {"host": None, "block_migration": "auto"}

    def ask(version):
        server, database = active(world), world.databases[CELL1]
        path = f"/v2.1/servers/{server.uuid}"
        world.client.post(f"{path}/action", {"os-migrateLive": auto}, version="2.25", token=ADMIN)
        with database.begin() as session:
            session.execute(models.operations.update().values(step=step))
            number = migrations.unfinished(session, server.uuid).id
        url = f"{path}/migrations/{number}{rest}"
        return asking(world.client, f"{method} {url}", body)(version)

    return ask


def failed_actions(world):
    """Place a server whose create has failed on a host; return the path of its actions."""
    server = active(world)
    event = InstanceActionEvent(
        event="spawn",
        host="h1",
        start_time=NOW,
        finish_time=NOW,
        result="Error",
        details="disk full",
    )
    action = InstanceAction(
        instance_uuid=server.uuid,
        action="create",
        request_id="req-create",
        user_id="alice",
        project_id="project",
        start_time=NOW,
        finish_time=None,
        message=None,
        events=[event],
    )
    with world.databases[CELL1].begin() as session:
        actions.start(session, action)
    return f"/v2.1/servers/{server.uuid}/os-instance-actions"


def show(world, server, token=ALICE):
    """Return what shows a server."""
    return told(world.client, f"/v2.1/servers/{server.uuid}", "server", token=token)


def listed(world, query, token=ALICE):
    """Return what lists the ids of servers."""
    servers = told(world.client, f"/v2.1/servers?{query}", "servers", token=token)
    return lambda version: {one["id"] for one in servers(version)}


def create(world, *, token=ALICE, hints=None, **values):
    """Return what creates a server, in each version with what that needs."""

    def ask(version):
        networks = {"networks": "none"} if int(version[2:]) >= _NO_NETWORKS else {}
        server = {"name": "new", "flavorRef": "1", "imageRef": IMAGE, **networks, **values}
        body = {"server": server} | ({"os:scheduler_hints": hints} if hints else {})
        return world.client.post("/v2.1/servers", body, version=version, token=token)

    return ask


def change(world, server, token=ALICE, **values):
    """Return what changes a server."""
    return asking(world.client, f"PUT /v2.1/servers/{server.uuid}", {"server": values}, token=token)


def tell_event(world, name, tag=None):
    """Return what tells of a server of its own, which may be told such things."""
    server = active(world)
    event = {"name": name, "server_uuid": server.uuid, "tag": tag or a_uuid()}
    return asking(world.client, "POST /v2.1/os-server-external-events", {"events": [event]})


def build_request(world, answer):
    """Return the instance that an accepted create has stored."""
    assert answer.status_code == 202, answer.text
    with world.api_db.read() as session:
        return build_requests.find(session, answer.json["server"]["id"]).instance
