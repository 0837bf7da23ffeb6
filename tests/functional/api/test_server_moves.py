"""Requests to move a server, to confirm that, and to revert it."""

import datetime

import pytest
import sqlalchemy as sa

from roost import states
from roost.db import wire
from roost.db.api import build_requests, cells, server_groups
from roost.db.api import models as api_models
from roost.db.cell import instances, left_behind, migrations, models, operations, services
from roost.db.types import utcnow
from roost.objects import Locality, NetworkInfo
from roost.rpc.compute import Compute
from tests.api_harness import ADMIN, ALICE, PRIVATE, count_statements
from tests.builders import (
    CELL1,
    CELL2,
    a_context,
    a_flavor,
    a_migration,
    a_vif,
    an_image,
)
from tests.fakes.service_groups import force_down

NEWEST = "2.96"
_PLACED = {"host": "h1", "node": "h1", "vm_state": states.ACTIVE, "task_state": None}


def act(world, server, body, **more):
    path = f"/v2.1/servers/{server.uuid}/action"
    return world.client.post(path, body, **{"version": NEWEST, "token": ADMIN, **more})


def message(answer):
    (said,) = answer.json.values()
    return said["message"]


def in_cell(world, read, *arguments):
    with world.databases[CELL1].read() as session:
        return read(session, *arguments)


def place_hosts(world, cell_of):
    with world.api_db.begin() as session:
        for host, cell in cell_of.items():
            cells.map_host(session, host, cell)


@pytest.fixture
def server(world):
    return world.place(CELL1, **_PLACED)


@pytest.fixture
def moved(world):
    """A server on h2, which waits for its user."""
    there = {"host": "h2", "vm_state": states.RESIZED, "power_state": states.RUNNING}
    instance = world.place(CELL1, **_PLACED | there)
    with world.databases[CELL1].begin() as session:
        migrations.create(session, a_migration(instance_uuid=instance.uuid))
    return instance


def test_a_server_is_to_move_to_a_host_that_is_claimed_beside_its_own(world, server):
    answer = act(world, server, {"migrate": None})
    assert (answer.status_code, answer.text) == (202, "")
    assert world.scheduler.moved == [([server.uuid], "h1", "new-host")]
    row = world.instance(server.uuid)
    assert (row.vm_state, row.task_state, row.host) == ("active", "resize_prep", "h1")
    migration = in_cell(world, migrations.unfinished, server.uuid)
    assert (migration.status, migration.source_host, migration.dest_host, migration.dest_ip) == (
        *("migrating", "h1", "new-host", "192.0.2.9"),
    )
    ((host, method, arguments),) = world.buses["fake://cell1/"].sent
    operation = arguments["operation"]
    assert (host, method, operation.kind, operation.step) == (
        *("new-host", "run", "migrate", "prepare"),
    )
    shown = world.client.get(f"/v2.1/servers/{server.uuid}", token=ALICE).json["server"]
    assert shown["status"] == "RESIZE"


def stored(world, server, **values):
    """Change the stored request of a server."""
    with world.api_db.begin() as session:
        spec = build_requests.spec_of(session, server.uuid)
        for name, value in values.items():
            setattr(spec, name, value)
        specs = api_models.request_specs
        mine = specs.c.request_uuid == spec.request_uuid
        session.execute(sa.update(specs).where(mine).values(spec=wire.dump(spec)))


def asked_for(world, server):
    """Migrate a server; return the request that the scheduler got."""
    assert act(world, server, {"migrate": None}).status_code == 202
    return world.scheduler.asked[-1]


@pytest.mark.parametrize("deleted", [True, False])
def test_a_group_binds_its_members_until_it_is_deleted(world, server, deleted):
    body = {"server_group": {"name": "g", "policy": "anti-affinity"}}
    made = world.client.post("/v2.1/os-server-groups", body, version=NEWEST, token=ALICE)
    group = made.json["server_group"]["id"]
    with world.api_db.read() as session:
        stored(world, server, group=server_groups.get(session, group))
    if deleted:
        world.client.delete(f"/v2.1/os-server-groups/{group}", token=ALICE)
    asked = asked_for(world, server)
    assert (asked.group and asked.group.uuid) == (None if deleted else group)


def test_servers_that_hints_name_count_while_they_exist(world, server):
    stays, goes = world.place(CELL1, **_PLACED), world.place(CELL1, **_PLACED)
    both = [stays.uuid, goes.uuid]
    hints = {"same_host": [goes.uuid], "different_host": both, "mine": ["x"]}
    stored(world, server, hints=hints)
    world.end(goes)
    assert asked_for(world, server).hints == {"different_host": [stays.uuid], "mine": ["x"]}


def test_a_host_must_reach_the_networks_that_a_server_has_by_now(world):
    info = NetworkInfo.of(vifs=[a_vif(network_id=PRIVATE.id)])
    server = world.place(CELL1, **_PLACED, network_info=info)
    stored(world, server, locality=[Locality.of(label="physnet2", hard=True)])
    asked = asked_for(world, server)
    assert [(one.label, one.hard) for one in asked.locality] == [
        ("physnet1", True),
        ("rack7", False),
    ]


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        (None, "No valid host was found. 1 host: not enough CPUs"),
        ({"host": "h1"}, "Cannot migrate to the host where the server exists."),
    ],
)
def test_a_server_with_nowhere_to_go_is_refused_and_not_changed(world, server, asked, reason):
    world.scheduler.chosen = "h1"
    answer = act(world, server, {"migrate": asked})
    assert (answer.status_code, message(answer)) == (400, reason)
    assert world.instance(server.uuid).task_state is None
    assert in_cell(world, migrations.unfinished, server.uuid) is None


@pytest.mark.parametrize("host", ["nobody", "NEW-HOST", "h2"])
def test_a_host_that_is_not_there_or_in_another_cell_is_not_found(world, server, host):
    place_hosts(world, {"h1": CELL1, "new-host": CELL1, "h2": CELL2})
    answer = act(world, server, {"migrate": {"host": host}})
    assert (answer.status_code, message(answer)) == (
        *(400, f"Compute host {host} could not be found."),
    )
    assert world.scheduler.moved == []
    assert act(world, server, {"migrate": {"host": "new-host"}}).status_code == 202


def test_a_server_does_not_move_to_a_host_that_is_forced_down(world, server):
    place_hosts(world, {"new-host": CELL1})
    force_down(world.databases[CELL1], "new-host")
    answer = act(world, server, {"migrate": {"host": "new-host"}})
    assert (answer.status_code, message(answer)) == (400, "Compute host new-host is forced down.")
    assert world.scheduler.moved == []


@pytest.mark.parametrize(
    ("specs", "properties", "stays"),
    [
        ({"hw:tpm_version": "2.0"}, {}, "a TPM"),
        ({}, {"hw_tpm_version": "1.2"}, "a TPM"),
        ({}, {"hw_firmware_type": "uefi"}, "variables of UEFI"),
        ({"resources:VGPU": "1"}, {}, "a virtual GPU"),
        ({"resources1:VGPU": "1"}, {}, "a virtual GPU"),
    ],
)
def test_a_server_whose_state_stays_on_its_host_is_refused_before_anything_is_claimed(
    world, specs, properties, stays
):
    flavor, image = a_flavor(extra_specs=specs), an_image(properties=properties)
    server = world.place(CELL1, **_PLACED, flavor=flavor, image=image)
    answer = act(world, server, {"migrate": None})
    assert (answer.status_code, message(answer)) == (
        *(400, f"The server has {stays}, which cannot be copied to another host."),
    )
    assert world.scheduler.moved == []
    assert world.instance(server.uuid).task_state is None


@pytest.mark.parametrize("body", [{"migrate": None}, {"confirmResize": None}])
def test_what_its_state_forbids_is_refused_before_anything_is_claimed(world, body):
    server = world.place(CELL1, **_PLACED | {"vm_state": states.PAUSED})
    answer = act(world, server, body)
    (action,) = body
    assert answer.status_code == 409
    assert message(answer) == (
        f"Cannot '{action}' instance {server.uuid} while it is in vm_state paused"
    )
    assert world.scheduler.moved == []


def test_a_second_request_while_one_is_under_way_says_what_is(world, server):
    act(world, server, {"migrate": None})
    answer = act(world, server, {"os-stop": None})
    assert answer.status_code == 409
    assert "task_state resize_prep: 'migrate' is under way since" in message(answer)
    again = act(world, server, {"migrate": None})
    assert again.status_code == 409
    assert len(world.scheduler.moved) == 1


def test_what_another_request_has_begun_meanwhile_keeps_its_claim(world, server):
    select = world.scheduler.select_destinations

    def late(*arguments, **named):
        world.scheduler.select_destinations = select
        assert act(world, server, {"migrate": None}).status_code == 202
        return select(*arguments, **named)

    world.scheduler.select_destinations = late
    assert act(world, server, {"migrate": None}).status_code == 409
    assert world.scheduler.released == []


def test_a_claim_is_released_when_something_else_has_begun_meanwhile(world, server):
    select = world.scheduler.select_destinations

    def late(*arguments, **named):
        assert act(world, server, {"os-stop": None}).status_code == 202
        return select(*arguments, **named)

    world.scheduler.select_destinations = late
    assert act(world, server, {"migrate": None}).status_code == 409
    assert world.scheduler.released == [([server.uuid], "new-host")]


@pytest.mark.parametrize(
    ("action", "status", "task", "first", "at"),
    [
        ("confirmResize", 204, "resize_confirming", "leave", "h1"),
        ("revertResize", 202, "resize_reverting", "withdraw", "h2"),
    ],
)
def test_the_end_of_a_move_begins_on_the_host_that_gives_the_server_up(
    world, moved, action, status, task, first, at
):
    shown = world.client.get(f"/v2.1/servers/{moved.uuid}", token=ALICE).json["server"]
    assert (shown["status"], shown["progress"]) == ("VERIFY_RESIZE", 0)
    assert act(world, moved, {action: None}, token=ALICE).status_code == status
    assert world.instance(moved.uuid).task_state == task
    operation = in_cell(world, operations.find, moved.uuid)
    assert (operation.step, operation.host) == (first, at)
    migration = in_cell(world, migrations.unfinished, moved.uuid)
    assert migration.status == {"leave": "confirming", "withdraw": "reverting"}[first]
    again = act(world, moved, {action: None}, token=ALICE)
    assert again.status_code == 409
    assert f"'{action}' is under way since" in message(again)


@pytest.fixture
def hosts(world):
    """Let the hosts of these states report, beside a conductor: up, down or fenced."""

    def hosts(**states_of):
        long_ago = utcnow() - datetime.timedelta(hours=1)
        table = models.services
        with world.databases[CELL1].begin() as session:
            services.report(session, host="c1", binary="roost-cell-conductor")
            for host, state in states_of.items():
                itself = {"host": host, "binary": "roost-compute", "version": Compute.version}
                services.report(session, **itself)
                if state != "up":
                    down = {"last_seen_up": long_ago, "forced_down": state == "fenced"}
                    session.execute(sa.update(table).where(table.c.host == host).values(down))

    return hosts


@pytest.mark.parametrize(
    ("source", "destination", "allowed"),
    [
        ("up", "up", {"confirmResize", "revertResize"}),
        ("down", "up", {"confirmResize"}),
        ("fenced", "up", {"confirmResize"}),
        ("up", "down", set()),  # the guest may run there
        ("up", "fenced", {"revertResize"}),
        ("down", "down", {"os-resetState"}),
        ("fenced", "fenced", {"os-resetState"}),
    ],
)
@pytest.mark.parametrize("action", ["confirmResize", "revertResize", "os-resetState"])
def test_a_move_ends_without_the_host_that_is_dead(
    world, moved, hosts, source, destination, action, allowed
):
    hosts(h1=source, h2=destination)
    answer = act(world, moved, {action: {"state": "error"} if action == "os-resetState" else None})
    assert (answer.status_code < 300) == (action in allowed), answer.text
    assert answer.status_code < 300 or answer.status_code == 409
    if (destination, action) == ("down", "revertResize") and source == "up":
        assert "an administrator forces it down first" in message(answer)


def test_a_server_whose_hosts_are_both_dead_is_where_its_row_says_from_a_reset_on(
    world, moved, hosts
):
    hosts(h1="down", h2="down")
    assert act(world, moved, {"os-resetState": {"state": "error"}}).status_code == 202
    row = world.instance(moved.uuid)
    assert (row.vm_state, row.host) == (states.ERROR, "h2")
    assert in_cell(world, migrations.unfinished, moved.uuid) is None
    assert in_cell(world, left_behind.on_host, "h1") == set()  # what is there may be all there is
    assert world.scheduler.released == [([moved.uuid], "h1")]


def test_a_request_that_comes_too_early_says_what_is_under_way(world, server):
    act(world, server, {"migrate": None})
    answer = act(world, server, {"confirmResize": None})
    assert answer.status_code == 409
    assert "vm_state active: 'migrate' is under way since" in message(answer)


def pinned(world, server, **asked):
    """Pin a server to a zone, if one is named; return the status, and the pin by now."""
    path, more = f"/v2.1/servers/{server.uuid}", {"version": "2.104", "token": ALICE}
    pin = {"pinned_availability_zone": asked.get("to")}
    answer = world.client.put(path, {"server": pin if asked else {}}, **more)
    shown = world.client.get(path, **more).json["server"]
    return answer.status_code, shown["pinned_availability_zone"]


@pytest.mark.parametrize(
    ("source", "action", "pin"),
    [
        ("west", "revertResize", None),
        ("east", "revertResize", "east"),
        ("west", "confirmResize", "east"),
    ],
)
def test_who_reverts_a_move_to_a_zone_has_no_pin_to_it(world, source, action, pin):
    there = {"host": "h2", "vm_state": states.RESIZED, "power_state": states.RUNNING}
    server = world.place(CELL1, **_PLACED | there, availability_zone="east")
    with world.databases[CELL1].begin() as session:
        zones = {"source_zone": source, "dest_zone": "east"}
        migrations.create(session, a_migration(instance_uuid=server.uuid, **zones))
    assert pinned(world, server, to="east") == (200, "east")
    assert act(world, server, {action: None}).status_code < 300
    assert pinned(world, server) == (200, pin)


def test_a_server_that_moves_is_pinned_to_no_zone(world):
    server = world.place(CELL1, **_PLACED, availability_zone="east")
    act(world, server, {"migrate": None})
    assert pinned(world, server, to="east") == (409, None)


def test_a_server_shows_how_much_of_its_disks_is_copied_and_others_cost_nothing(world, server):
    moving = world.place(CELL1, **_PLACED | {"task_state": states.RESIZE_FINISH})
    copied = {"disk_total_bytes": 3 * 2**40, "disk_processed_bytes": 2**40}
    with world.databases[CELL1].begin() as session:
        migration = a_migration(instance_uuid=moving.uuid, status="migrating", **copied)
        migrations.create(session, migration)

    def shown(one):
        with count_statements(world) as counted:
            answer = world.client.get(f"/v2.1/servers/{one.uuid}", token=ALICE)
        return answer.json["server"]["progress"], sum("migrations" in one for one in counted.seen)

    assert (shown(server), shown(moving)) == ((100, 0), (33, 1))
    page = world.client.get("/v2.1/servers/detail", token=ALICE).json["servers"]
    assert {one["id"]: one["progress"] for one in page} == {server.uuid: 100, moving.uuid: 33}


def test_users_do_not_move_servers_and_strangers_do_not_see_them(world, server, moved):
    assert act(world, server, {"migrate": None}, token=ALICE).status_code == 403
    assert act(world, moved, {"confirmResize": None}, token="bob:other").status_code == 404


@pytest.mark.parametrize(("action", "end"), [(None, "confirmed"), ("revertResize", "error")])
def test_a_delete_goes_to_both_hosts_and_ends_the_migration(world, moved, action, end):
    if action is not None:
        act(world, moved, {action: None})
    assert world.client.delete(f"/v2.1/servers/{moved.uuid}", token=ALICE).status_code == 204
    world.parts.cells.get(CELL1).end_instance(a_context(), moved.uuid)
    sent = {host for host, method, _ in world.buses["fake://cell1/"].sent}
    assert sent == {"h1", "h2"}
    assert in_cell(world, migrations.unfinished, moved.uuid) is None
    found = world.client.get(f"/v2.1/os-migrations?status={end}", version=NEWEST)
    assert [one["instance_uuid"] for one in found.json["migrations"]] == [moved.uuid]


def test_a_move_whose_guest_is_lost_is_reverted_and_not_confirmed(world, moved):
    with world.databases[CELL1].begin() as session:
        lost = {"power_state": states.NOSTATE}
        instances.update(session, moved.uuid, lost, expected={})
    answer = act(world, moved, {"confirmResize": None})
    assert (answer.status_code, "revert the move" in message(answer)) == (409, True)
    assert act(world, moved, {"revertResize": None}).status_code == 202
