"""Requests to resize a server: its flavor, the project's quota, and what is refused."""

import pytest

from roost import exception, states
from roost.db.api import flavors, quota, resizes
from roost.db.cell import instances, migrations, operations
from tests.api_harness import ADMIN, ALICE, LARGER
from tests.builders import CELL1, a_flavor, a_migration, an_image

_PLACED = {"host": "h1", "node": "h1", "vm_state": states.ACTIVE, "task_state": None}


def resize(world, server, flavor=LARGER, *, version="2.96", **more):
    body = {"resize": {"flavorRef": flavor, **more}}
    path = f"/v2.1/servers/{server.uuid}/action"
    return world.client.post(path, body, version=version, token=ALICE)


def message(answer):
    (said,) = answer.json.values()
    return said["message"]


def in_cell(world, read, *arguments):
    with world.databases[CELL1].read() as session:
        return read(session, *arguments)


def charged(world):
    """Return the (cores, MiB) that the project is charged for, which is what its mappings have."""
    with world.api_db.read() as session:
        assert quota.differences(session) == {}
    used = world.usage()
    return used["cores"], used["ram"]


def unsettled(world, server):
    """Return the migration for which the quota of a server is not settled."""
    with world.api_db.read() as session:
        found = resizes.list_unsettled(session)
    return next((one.resize_uuid for one in found if one.instance_uuid == server.uuid), None)


@pytest.fixture
def server(world):
    instance = world.place(CELL1, **_PLACED)
    world.add_larger_flavor()
    with world.api_db.begin() as session:
        quota.recount(session, "project")
    return instance


@pytest.fixture
def add_flavor(world):
    def add(**values):
        flavor = a_flavor(**{"flavorid": "9", "name": "another", "root_gb": 20, **values})
        with world.api_db.begin() as session:
            flavors.create(session, flavor)
        return flavor.flavorid

    return add


@pytest.mark.parametrize("version", ["2.1", "2.96"])
def test_a_server_is_to_get_a_flavor_on_a_host_that_is_claimed_beside_its_own(
    world, server, version
):
    answer = resize(world, server, version=version)
    assert (answer.status_code, answer.text) == (202, "")
    assert world.scheduler.moved == [([server.uuid], "h1", "new-host")]
    row = world.instance(server.uuid)
    assert (row.vm_state, row.task_state, row.host) == ("active", "resize_prep", "h1")
    assert row.flavor.flavorid == "1"
    migration = in_cell(world, migrations.unfinished, server.uuid)
    assert (migration.migration_type, migration.dest_host) == ("resize", "new-host")
    assert (migration.old_flavor.flavorid, migration.new_flavor.flavorid) == ("1", LARGER)
    operation = in_cell(world, operations.find, server.uuid)
    assert (operation.kind, operation.step, operation.host) == ("resize", "prepare", "new-host")
    shown = world.client.get(f"/v2.1/servers/{server.uuid}", token=ALICE).json["server"]
    assert shown["status"] == "RESIZE"


def test_the_larger_of_both_flavors_is_charged_at_once(world, server):
    assert charged(world) == (1, 512)
    resize(world, server)
    assert charged(world) == (2, 2048)
    assert unsettled(world, server) == in_cell(world, migrations.unfinished, server.uuid).uuid


def test_a_smaller_flavor_is_not_given_back_before_the_user_confirms_it(world, server, add_flavor):
    resize(world, server, add_flavor(vcpus=1, memory_mb=256))
    assert charged(world) == (1, 512)


def test_without_quota_nothing_is_claimed(world, server):
    with world.api_db.begin() as session:
        quota.set_for_project(session, "project", {"ram": 1024})
    answer = resize(world, server)
    assert answer.status_code == 403
    assert message(answer).startswith("Quota exceeded for ram: Requested 1536, but already used")
    assert world.scheduler.moved == []
    assert (charged(world), unsettled(world, server)) == ((1, 512), None)


def test_a_project_beyond_its_quota_may_resize_to_what_needs_no_more_of_it(
    world, server, add_flavor
):
    with world.api_db.begin() as session:
        quota.set_for_project(session, "project", {"cores": 0, "ram": 2048})
    assert resize(world, server, add_flavor(memory_mb=1024)).status_code == 202
    assert charged(world) == (1, 1024)


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"flavorid": "1"}, "When resizing, instances must change flavor!"),
        ({"root_gb": 9}, "The root disk cannot shrink: the server has 10 GiB, and the flavor"),
        ({"root_gb": 0}, "The flavor another has no root disk."),
        ({"ephemeral_gb": 1}, "The ephemeral disk cannot shrink"),
        ({"disabled": True}, "Invalid flavorRef provided."),
        ({"is_public": False}, "Invalid flavorRef provided."),
        ({"memory_mb": 64}, "memory"),
        ({"extra_specs": {"hw:cpu_policy": "no such"}}, "CPU policy requested is invalid"),
    ],
)
def test_a_flavor_that_does_not_fit_is_refused_and_nothing_is_charged(
    world, server, add_flavor, values, said
):
    image = an_image(min_ram=128)
    same = "flavorid" in values
    old = a_flavor(root_gb=1 if same else 10, ephemeral_gb=2 if "ephemeral_gb" in values else 0)
    server = world.place(CELL1, **_PLACED, image=image, flavor=old)
    before = world.usage()
    flavor = "1" if same else add_flavor(**{"ephemeral_gb": 2, **values})
    answer = resize(world, server, flavor)
    assert (answer.status_code, said in message(answer)) == (400, True), message(answer)
    assert (world.usage(), unsettled(world, server)) == (before, None)
    assert world.scheduler.moved == []


@pytest.mark.parametrize(
    "values", [{"vcpus": 4}, {"memory_mb": 4096}, {"swap": 64}, {"extra_specs": {"hw:x": "1"}}]
)
def test_a_flavor_that_was_made_anew_with_its_id_is_another_one(world, server, values):
    with world.api_db.begin() as session:
        flavors.delete(session, "1")
        flavors.create(session, a_flavor(name="anew", **values))
    assert resize(world, server, "1").status_code == 202
    migration = in_cell(world, migrations.unfinished, server.uuid)
    ((name, value),) = values.items()
    assert getattr(migration.new_flavor, name) == value != getattr(migration.old_flavor, name)


@pytest.mark.parametrize("root", ["/v2", "/v2.1"])
def test_a_flavor_may_be_named_by_its_url(world, server, add_flavor, root):
    flavor = add_flavor(vcpus=4)
    url = f"https://compute.example.com/{'long/' * 60}{root}/flavors/{flavor}"
    path = f"{root}/servers/{server.uuid}/action"
    answer = world.client.post(path, {"resize": {"flavorRef": url}}, token=ALICE)
    assert answer.status_code == 202, answer.text
    assert in_cell(world, migrations.unfinished, server.uuid).new_flavor.vcpus == 4


@pytest.mark.parametrize("flavor", ["no-such-flavor", "", 77, None])
def test_a_flavor_that_there_is_not_is_refused(world, server, flavor):
    assert resize(world, server, flavor).status_code == 400


@pytest.mark.parametrize("vm_state", ["paused", "suspended", "rescued", "error", "resized"])
def test_what_its_state_forbids_is_refused(world, vm_state):
    server = world.place(CELL1, **_PLACED | {"vm_state": vm_state})
    answer = resize(world, server)
    assert answer.status_code == 409
    assert message(answer) == (
        f"Cannot 'resize' instance {server.uuid} while it is in vm_state {vm_state}"
    )


def test_a_server_that_fits_nowhere_is_refused_with_the_reasons_and_its_quota_given_back(
    world, server
):
    world.scheduler.chosen = "h1"
    answer = resize(world, server)
    assert answer.status_code == 400
    assert message(answer).startswith("No valid host was found.")
    assert (charged(world), unsettled(world, server)) == ((1, 512), None)


def test_of_two_requests_at_once_one_is_refused_and_only_one_is_charged(world, server, add_flavor):
    third = add_flavor(vcpus=4, memory_mb=512)
    select = world.scheduler.select_destinations

    def late(*arguments, **named):
        world.scheduler.select_destinations = select
        assert resize(world, server, third).status_code == 409
        return select(*arguments, **named)

    world.scheduler.select_destinations = late
    assert resize(world, server).status_code == 202
    assert charged(world) == (2, 2048)


def test_what_has_begun_meanwhile_is_named_and_the_quota_given_back(world, server):
    select = world.scheduler.select_destinations

    def late(*arguments, **named):
        path = f"/v2.1/servers/{server.uuid}/action"
        assert world.client.post(path, {"os-stop": None}, token=ALICE).status_code == 202
        return select(*arguments, **named)

    world.scheduler.select_destinations = late
    answer = resize(world, server)
    assert (answer.status_code, "'stop' is under way" in message(answer)) == (409, True)
    assert world.scheduler.released == [([server.uuid], "new-host")]
    assert (charged(world), unsettled(world, server)) == ((1, 512), None)


@pytest.mark.parametrize(("status", "code"), [("reverted", 202), ("migrating", 409)])
def test_the_quota_of_the_resize_before_is_settled_first_if_that_is_over(
    world, server, status, code
):
    before = a_migration(instance_uuid=server.uuid, status=status)
    with world.databases[CELL1].begin() as session:
        migrations.create(session, before)
    with world.api_db.begin() as session:
        larger = a_flavor(vcpus=9, memory_mb=9000)
        none = {"cores": -1, "ram": -1}
        resizes.charge(session, server.uuid, larger, migration_uuid=before.uuid, defaults=none)
    answer = resize(world, server)
    assert answer.status_code == code
    assert charged(world) == ((2, 2048) if code == 202 else (9, 9000))


@pytest.mark.parametrize("value", ["AUTO", "MANUAL"])
def test_the_file_system_grows_with_the_disk_if_the_user_says_so(world, server, value):
    resize(world, server, **{"OS-DCF:diskConfig": value})
    assert world.instance(server.uuid).disk_config == value


def test_what_grows_where_it_is_moves_nowhere(world, server, options):
    object.__setattr__(options, "resizes_on_same_host", True)
    world.scheduler.chosen = "h1"
    assert resize(world, server).status_code == 202
    migration = in_cell(world, migrations.unfinished, server.uuid)
    assert (migration.source_host, migration.dest_host) == ("h1", "h1")


@pytest.mark.parametrize(("is_allowed", "code"), [(False, 400), (True, 202)])
def test_a_server_whose_state_stays_on_its_host_is_resized_only_there(
    world, server, options, is_allowed, code
):
    image = an_image(properties={"hw_firmware_type": "uefi", "hw_tpm_version": "2.0"})
    server, before = world.place(CELL1, **_PLACED, image=image), world.usage()
    object.__setattr__(options, "resizes_on_same_host", is_allowed)
    answer = resize(world, server)
    assert answer.status_code == code
    if is_allowed:
        assert world.scheduler.moved == [([server.uuid], "h1", "h1")]
    else:
        assert message(answer).startswith("The server has variables of UEFI and a TPM, which can")
        assert (world.usage(), unsettled(world, server)) == (before, None)


def test_a_deleted_server_gives_back_all_that_its_resize_was_charged(world, server):
    resize(world, server)
    assert world.client.delete(f"/v2.1/servers/{server.uuid}", token=ALICE).status_code == 204
    assert charged(world) == (0, 0)


def test_a_scheduler_that_does_not_answer_costs_no_quota(world, server, monkeypatch):
    def away(*_arguments, **_named):
        raise exception.Unavailable("no scheduler")

    with monkeypatch.context() as patched:
        patched.setattr(world.scheduler, "select_destinations", away)
        assert resize(world, server).status_code == 503
    assert (charged(world), unsettled(world, server)) == ((1, 512), None)
    assert resize(world, server).status_code == 202


def test_a_request_that_takes_too_long_begins_nothing(world, server, monkeypatch):
    """By then its quota may have been given back."""
    monkeypatch.setattr(resizes, "SECONDS_TO_BEGIN", -1.0)
    assert resize(world, server).status_code == 503
    assert in_cell(world, migrations.unfinished, server.uuid) is None
    assert in_cell(world, operations.find, server.uuid) is None
    assert world.instance(server.uuid).task_state is None
    assert unsettled(world, server) is not None  # a super-conductor settles it


def test_a_migration_takes_no_flavor_away_that_the_server_got_meanwhile(world, server):
    select, grown = world.scheduler.select_destinations, a_flavor(flavorid="7", vcpus=4)

    def late(*arguments, **named):  # it was resized on its own host, and confirmed
        with world.databases[CELL1].begin() as session:
            instances.update(session, server.uuid, {"flavor": grown}, expected={})
        return select(*arguments, **named)

    world.scheduler.select_destinations = late
    path = f"/v2.1/servers/{server.uuid}/action"
    assert world.client.post(path, {"migrate": None}, token=ADMIN).status_code == 409
    assert world.instance(server.uuid).flavor.flavorid == "7"


def test_a_refused_resize_on_the_own_host_leaves_the_claim_of_a_move_that_has_begun(
    world, server, options
):
    object.__setattr__(options, "resizes_on_same_host", True)
    select, moved = world.scheduler.select_destinations, []

    def late(*arguments, **named):
        world.scheduler.select_destinations, world.scheduler.chosen = select, "new-host"
        path = f"/v2.1/servers/{server.uuid}/action"
        assert world.client.post(path, {"migrate": None}, token=ADMIN).status_code == 202
        world.scheduler.chosen = "h1"
        return select(*arguments, **named)

    world.scheduler.select_destinations = late
    world.scheduler.move_claim = lambda _context, **named: moved.append(named)
    assert resize(world, server).status_code == 409
    ((to, flavor),) = [(one["to"].host, one["request_spec"].flavor.flavorid) for one in moved]
    assert (to, flavor) == ("h1", "1")
