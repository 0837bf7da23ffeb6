"""Rebuilding and rescuing servers and setting passwords through the API; casts are recorded."""

import pytest

from roost import exception, states
from roost.api.dependencies import ApiOptions
from roost.api.servers import operations
from roost.db.api import keypairs
from roost.db.cell import actions, instances
from roost.db.cell import operations as operation_rows
from roost.objects.mapping import CELL0_UUID
from roost.operations import kinds
from tests import api_harness
from tests.api_harness import ADMIN, ALICE, UNLIMITED
from tests.builders import CELL1, a_flavor, a_keypair, a_report, a_uuid, an_image

HOST = {
    "architectures": ["x86_64"],
    "hypervisor_type": "QEMU",
    "hypervisor_version": 7_002_000,
    "traits": ["CUSTOM_Y"],
}
OTHER = "dddddddd-dddd-4ddd-8ddd-dddddddddddd"
BY_STATE = {
    vm_state: {"vm_state": vm_state, "task_state": None, "host": "h1", "node": "h1"}
    for vm_state in (*states.WITH_GUEST, states.ERROR)
}
REBUILD = {"rebuild": {"imageRef": OTHER}}
RESCUE, UNRESCUE = {"rescue": None}, {"unrescue": None}
IMAGE_OF = {"createImage": {"name": "mine"}}
BACKUP = {"createBackup": {"name": "mine", "backup_type": "daily", "rotation": 2}}
WHOLE = (states.ACTIVE, states.STOPPED, states.PAUSED, states.SUSPENDED)
PASSWORD = {"changePassword": {"adminPass": "s3cret-s3cret"}}
BEGINS = {
    "rebuild": (REBUILD, states.REBUILDING, (states.ACTIVE, states.STOPPED, states.ERROR)),
    "rescue": (RESCUE, states.RESCUING, (states.ACTIVE, states.STOPPED, states.ERROR)),
    "unrescue": (UNRESCUE, states.UNRESCUING, (states.RESCUED,)),
    "createImage": (IMAGE_OF, states.IMAGE_SNAPSHOT_PENDING, WHOLE),
    "createBackup": (BACKUP, states.IMAGE_BACKUP, WHOLE),
    "changePassword": (PASSWORD, states.UPDATING_PASSWORD, (states.ACTIVE,)),
    "trigger_crash_dump": (
        {"trigger_crash_dump": None},
        states.TRIGGERING_CRASH_DUMP,
        (states.ACTIVE, states.PAUSED, states.RESCUED, states.ERROR),
    ),
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    with api_harness.made_in(tmp_path_factory.mktemp("world"), ApiOptions()) as world:
        world.images.images[OTHER] = an_image(id=OTHER, name="other")
        with world.api_db.begin() as session:
            for user in ("alice", "bob"):
                keypair = a_keypair(user_id=user, name=f"key of {user}")
                keypairs.create(session, keypair, project_id="project", defaults=UNLIMITED)
        yield world


@pytest.fixture
def world(shared):
    shared.scheduler.reports, shared.scheduler.away = [a_report("h1", **HOST)], False
    for bus in shared.buses.values():
        bus.sent.clear()
    return shared


def act(world, server, body, **more):
    more = {"token": ALICE, "version": "2.96"} | more
    return world.client.post(f"/v2.1/servers/{server.uuid}/action", body, **more)


def rebuild(world, server, asked, **more):
    return act(world, server, {"rebuild": {"imageRef": OTHER} | asked}, **more)


def place(world, vm_state=states.ACTIVE, **values):
    return world.place(CELL1, **{"uuid": a_uuid(), **BY_STATE[vm_state], **values})


def history(world, server):
    with world.databases[CELL1].read() as session:
        return actions.list_actions(session, server.uuid)


def operation(world, server):
    with world.databases[CELL1].read() as session:
        return operation_rows.find(session, server.uuid)


def task_of(world, server):
    return world.instance(server.uuid).task_state


@pytest.mark.parametrize(
    ("word", "vm_state"), [(word, vm) for word, (_, _, vms) in BEGINS.items() for vm in vms]
)
def test_what_is_to_be_done_is_written_down_and_told(world, word, vm_state):
    body, task, _ = BEGINS[word]
    server = place(world, vm_state)
    answer = act(world, server, body)
    assert answer.status_code == (200 if word == "rescue" else 202)
    row = world.instance(server.uuid)
    assert (row.vm_state, row.task_state) == (vm_state, task)
    ((host, method, told),) = world.buses["fake://cell1/"].sent
    operation = told["operation"]
    assert (host, method, operation.instance_uuid) == ("h1", "run", server.uuid)
    assert kinds.get(operation.kind).first == task
    (action,) = history(world, server)
    assert (action.action, action.user_id, action.finish_time) == (word, "alice", None)


@pytest.mark.parametrize(
    ("word", "vm_state"),
    [(word, vm) for word, (_, _, vms) in BEGINS.items() for vm in BY_STATE if vm not in vms],
)
def test_what_its_state_forbids_is_refused_and_changes_nothing(world, word, vm_state):
    server = place(world, vm_state)
    answer = act(world, server, BEGINS[word][0])
    assert answer.status_code == 409
    assert answer.json["conflictingRequest"]["message"] == (
        f"Cannot '{word}' instance {server.uuid} while it is in vm_state {vm_state}"
    )
    assert (task_of(world, server), history(world, server)) == (None, [])
    assert world.buses["fake://cell1/"].sent == []


@pytest.mark.parametrize("word", BEGINS)
def test_a_task_under_way_comes_first(world, word):
    body, _, (vm_state, *_) = BEGINS[word]
    server = place(world, vm_state, task_state=states.DELETING)
    message = act(world, server, body).json["conflictingRequest"]["message"]
    assert message.endswith("while it is in task_state deleting")


@pytest.mark.parametrize("word", sorted({*BEGINS} - {"createImage", "createBackup"}))
def test_a_locked_server_is_left_alone_by_all_but_administrators(world, word):
    body, task, (vm_state, *_) = BEGINS[word]
    server = place(world, vm_state, locked=True, locked_by="owner")
    assert act(world, server, body).status_code == 409
    assert act(world, server, body, token=ADMIN).status_code in (200, 202)
    assert task_of(world, server) == task


@pytest.mark.parametrize("word", BEGINS)
def test_a_server_on_no_host_is_not_ready(world, word):
    body, _, (vm_state, *_) = BEGINS[word]
    nowhere = BY_STATE[vm_state] | {"uuid": a_uuid(), "host": None, "node": None}
    server = world.place(CELL0_UUID, **nowhere)
    assert act(world, server, body).status_code == 409
    assert act(world, world.build_request(uuid=a_uuid()), body).status_code == 409


# rebuild


def test_a_rebuild_changes_what_it_names_at_once_and_the_image_later(world):
    server = place(world, metadata={"old": "gone"})
    asked = {
        "name": "new",
        "description": "told",
        "hostname": "new.example.org",
        "metadata": {"a": "b"},
        "user_data": "aGVsbG8=",
        "accessIPv4": "10.9.9.9",
        "accessIPv6": "fe80::9",
        "key_name": "key of alice",
    }
    assert rebuild(world, server, asked).status_code == 202
    row = world.instance(server.uuid)
    assert row.display_name == "new"
    assert (row.display_description, row.hostname) == ("told", "new.example.org")
    assert (row.metadata, row.user_data) == ({"a": "b"}, "aGVsbG8=")
    assert (row.access_ip_v4, row.access_ip_v6) == ("10.9.9.9", "fe80::9")
    assert (row.key_name, row.keypair.name) == ("key of alice", "key of alice")
    assert (row.image.id, operation(world, server).params.image.id) == (server.image.id, OTHER)
    assert (row.host, row.attempt) == (server.host, server.attempt + 1)


def test_what_a_rebuild_does_not_name_stays(world):
    server = place(world, metadata={"a": "b"}, user_data="aGVsbG8=", key_name="k")
    assert rebuild(world, server, {}).status_code == 202
    row = world.instance(server.uuid)
    for name in ("metadata", "user_data", "key_name", "display_name", "hostname"):
        assert getattr(row, name) == getattr(server, name)


def test_a_rebuild_may_take_key_user_data_and_description_away(world):
    server = place(world, user_data="aGVsbG8=", key_name="k", display_description="told")
    nothing = dict.fromkeys(("key_name", "user_data", "description"))
    assert rebuild(world, server, nothing).status_code == 202
    row = world.instance(server.uuid)
    assert (row.key_name, row.keypair, row.user_data, row.display_description) == (None,) * 4


def test_the_answer_to_a_rebuild_is_the_server_as_it_will_be_with_its_password(world):
    server = place(world)
    answer = rebuild(world, server, {"adminPass": "mine"})
    shown = answer.json["server"]
    assert (shown["status"], shown["image"]["id"]) == ("REBUILD", OTHER)
    assert (shown["adminPass"], shown["user_data"]) == ("mine", None)
    assert shown["OS-EXT-STS:task_state"] == states.REBUILDING
    assert answer.headers["location"].endswith(f"/v2.1/servers/{server.uuid}")
    assert rebuild(world, place(world), {}).json["server"]["adminPass"]


@pytest.mark.parametrize(
    ("version", "name", "value"),
    [
        ("2.18", "description", "told"),
        ("2.53", "key_name", "key of alice"),
        ("2.56", "user_data", "aGVsbG8="),
        ("2.57", "personality", []),
        ("2.62", "trusted_image_certificates", None),
        ("2.89", "hostname", "new"),
        ("2.93", "hostname", "new.example.org"),
        ("2.96", "flavorRef", "1"),
    ],
)
def test_what_a_rebuild_may_name_depends_on_the_microversion(world, version, name, value):
    server = place(world)
    assert rebuild(world, server, {name: value}, version=version).status_code == 400
    assert task_of(world, server) is None


@pytest.mark.parametrize(
    ("asked", "version"),
    [
        ({"imageRef": "eeeeeeee-eeee-4eee-8eee-eeeeeeeeeeee"}, "2.96"),
        ({"imageRef": "tiny"}, "2.96"),
        ({"key_name": "key of bob"}, "2.96"),
        ({"preserve_ephemeral": True}, "2.96"),
        ({"trusted_image_certificates": []}, "2.96"),
        ({"trusted_image_certificates": ["a", "a"]}, "2.96"),
        ({"trusted_image_certificates": ["a"] * 51}, "2.96"),
        ({"personality": None}, "2.56"),
        ({"personality": [{"path": "/a"}]}, "2.56"),
        ({"personality": [{"path": "/a", "contents": "?"}]}, "2.56"),
        ({"user_data": "?"}, "2.96"),
        ({"metadata": {"a": 1}}, "2.96"),
    ],
)
def test_a_rebuild_that_cannot_be_had_is_refused(world, asked, version):
    server = place(world)
    assert rebuild(world, server, asked, version=version).status_code == 400
    assert task_of(world, server) is None


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"min_ram": 4096}, "memory is too small"),
        ({"min_disk": 99}, "disk is too small"),
        ({"status": "queued"}, "is not active"),
        ({"visibility": "private", "owner": "another"}, "could not be found"),
        ({"properties": {"hw_numa_nodes": "2"}}, "other NUMA cells"),
        ({"properties": {"hw_pmu": "no"}}, "image's requirements (CUSTOM_COMPUTE_PMU)"),
        ({"properties": {"trait:CUSTOM_X": "required"}}, "requirements (CUSTOM_X)"),
        ({"properties": {"hw_architecture": "aarch64"}}, "requirements (hw_architecture=aarch64)"),
        ({"properties": {"img_hv_requested_version": ">=9"}}, "(img_hv_requested_version=>=9)"),
    ],
)
def test_the_new_image_must_be_there_and_fit_where_the_server_is(world, values, message):
    image = an_image(id=a_uuid(), **values)
    world.images.images[image.id] = image
    server = place(world, flavor=a_flavor(memory_mb=1024, root_gb=10, vcpus=2))
    answer = rebuild(world, server, {"imageRef": image.id})
    assert answer.status_code == 400
    assert message in answer.json["badRequest"]["message"]
    assert task_of(world, server) is None


def test_a_new_image_may_ask_for_whatever_the_host_is(world):
    asked = {
        "architecture": "amd64",
        "img_hv_type": "QEMU",
        "hw_vm_mode": "hvm",
        "img_hv_requested_version": ">=7.2",
        "trait:CUSTOM_Y": "required",
        "trait:CUSTOM_X": "forbidden",
    }
    image = an_image(id=a_uuid(), properties=asked)
    world.images.images[image.id] = image
    server = place(world)
    assert rebuild(world, server, {"imageRef": image.id}).status_code == 202


def test_where_nobody_knows_what_the_host_is_such_an_image_waits(world):
    image = an_image(id=a_uuid(), properties={"hw_architecture": "x86_64"})
    world.images.images[image.id] = image
    world.scheduler.reports = []
    server = place(world)
    assert rebuild(world, server, {"imageRef": image.id}).status_code == 409
    world.scheduler.away = True
    assert rebuild(world, server, {"imageRef": image.id}).status_code == 503
    assert task_of(world, server) is None


def test_a_new_image_may_ask_for_the_place_that_the_server_was_given(world):
    old = {"architecture": "amd64", "img_hv_type": "QEMU", "trait:CUSTOM_X": "forbidden"}
    new = {"hw_architecture": "x86_64", "hypervisor_type": "kvm", "trait:CUSTOM_X": "forbidden"}
    image = an_image(id=a_uuid(), properties=new)
    world.images.images[image.id] = image
    server = place(world, image=an_image(properties=old))
    assert rebuild(world, server, {"imageRef": image.id}).status_code == 202


@pytest.mark.parametrize(
    "specs",
    [
        {"hw:locked_memory": "yes"},
        {"hw:mem_encryption": "yes"},
        {"hw:emulator_threads_policy": "share"},
        {"pci_passthrough:alias": "gone:1"},
    ],
)
def test_a_server_keeps_a_flavor_that_would_be_refused_today(world, specs):
    server = place(world, flavor=a_flavor(extra_specs=specs))
    assert rebuild(world, server, {}).status_code == 202


def test_beside_a_flavor_that_would_be_refused_today_the_image_must_still_fit(world):
    image = an_image(id=a_uuid(), properties={"hw_numa_nodes": "2"})
    world.images.images[image.id] = image
    gone = a_flavor(vcpus=2, extra_specs={"pci_passthrough:alias": "gone:1"})
    answer = rebuild(world, place(world, flavor=gone), {"imageRef": image.id})
    assert "other NUMA cells" in answer.json["badRequest"]["message"]


@pytest.mark.parametrize(("gib", "status"), [(3, 202), (4, 400)])
def test_a_disk_that_only_the_image_sizes_does_not_grow_by_a_rebuild(world, gib, status):
    server = place(world, flavor=a_flavor(root_gb=0), image=an_image(min_disk=3))
    image = an_image(id=a_uuid(), virtual_size=gib << 30)
    world.images.images[image.id] = image
    answer = rebuild(world, server, {"imageRef": image.id})
    assert answer.status_code == status
    assert status == 202 or "4 GiB, but the server has 3 GiB" in answer.text


# rescue


def test_a_rescue_tells_the_host_which_image_and_password(world):
    server = place(world)
    asked = {"adminPass": "mine", "rescue_image_ref": OTHER}
    answer = act(world, server, {"rescue": asked})
    assert answer.json == {"adminPass": "mine"}
    assert operation(world, server).params.image.id == OTHER
    assert world.buses["fake://cell1/"].sent[0][2]["password"] == "mine"


def test_a_rescue_goes_by_the_servers_own_image_and_a_password_of_ours(world):
    server = place(world)
    answer = act(world, server, RESCUE, version="2.1")
    assert operation(world, server).params.image.id == server.image.id
    assert world.buses["fake://cell1/"].sent[0][2]["password"] == answer.json["adminPass"]


def test_a_rescue_with_an_image_that_is_not_there_is_refused(world):
    server = place(world)
    assert act(world, server, {"rescue": {"rescue_image_ref": a_uuid()}}).status_code == 400
    assert task_of(world, server) is None


def test_a_rescue_with_an_image_that_asks_for_what_nobody_does_is_refused(world):
    image = an_image(id=a_uuid(), properties={"hw_mem_encryption": "yes"})
    world.images.images[image.id] = image
    server = place(world)
    answer = act(world, server, {"rescue": {"rescue_image_ref": image.id}})
    assert "memory of guests cannot be encrypted" in answer.json["badRequest"]["message"]
    assert task_of(world, server) is None


# images and backups


def image_of(world, answer):
    return world.images.images[answer.json["image_id"]]


def test_an_image_waits_for_the_host_and_says_what_it_is_of(world):
    base = an_image(min_ram=64, min_disk=3, properties={"os_type": "linux", "img_signature": "x"})
    server = place(world, image=base, flavor=a_flavor(root_gb=7))
    asked = {"name": "mine", "metadata": {"a": "b"}}
    answer = act(world, server, {"createImage": asked})
    image = image_of(world, answer)
    assert (image.name, image.status, image.visibility) == ("mine", "queued", "private")
    assert (image.owner, image.disk_format) == ("project", base.disk_format)
    assert (image.min_ram, image.min_disk) == (64, 7)
    assert image.properties == {
        "os_type": "linux",
        "a": "b",
        "image_type": "snapshot",
        "base_image_ref": base.id,
        "instance_uuid": server.uuid,
        "owner_id": "project",
        "user_id": "alice",
    }
    assert operation(world, server).params.image.id == image.id
    assert world.buses["fake://cell1/"].sent[0][2]["operation"].params.image.id == image.id


@pytest.mark.parametrize("body", [IMAGE_OF, BACKUP])
def test_an_api_that_dies_before_it_describes_an_image_leaves_none(world, body, monkeypatch):
    """The task is there, so its host is told of it again and ends it."""
    server, before = place(world), {*world.images.images}
    monkeypatch.setattr(world.images, "trouble", SystemExit("killed"))
    with pytest.raises(SystemExit):
        act(world, server, body)
    assert {*world.images.images} == before
    assert task_of(world, server) == BEGINS[min(body)][1]
    assert operation(world, server).params.image.id not in before


@pytest.mark.parametrize("body", [IMAGE_OF, BACKUP])
def test_an_api_that_dies_before_it_tells_the_host_leaves_the_image_to_it(world, body, monkeypatch):
    def die(*_args, **_told):
        raise SystemExit("killed")

    server = place(world)
    monkeypatch.setattr(operations, "send", die)
    with pytest.raises(SystemExit):
        act(world, server, body)
    assert world.images.images[operation(world, server).params.image.id].status == "queued"


def test_an_image_whose_task_has_ended_before_it_was_described_goes(world, monkeypatch):
    server, before, create = place(world), {*world.images.images}, world.images.create

    def late(context, image):
        with world.databases[CELL1].begin() as session:
            operation_rows.preempt(session, server.uuid, "It has ended.")
            ended = {"task_state": None}
            instances.update(session, server.uuid, ended, expected={})
        return create(context, image)

    monkeypatch.setattr(world.images, "create", late)
    assert act(world, server, IMAGE_OF).status_code == 409
    assert {*world.images.images} == before


def test_what_the_image_store_refuses_its_host_hears_of(world, monkeypatch):
    server = place(world)
    full = exception.Forbidden("no room for more images")
    monkeypatch.setattr(world.images, "trouble", full)
    answer = act(world, server, IMAGE_OF)
    assert (answer.status_code, "no room" in answer.text) == (403, True)
    ((_, _, told),) = world.buses["fake://cell1/"].sent
    assert told["operation"].params.image.id == operation(world, server).params.image.id


@pytest.mark.parametrize("body", [IMAGE_OF, BACKUP])
def test_what_is_refused_leaves_no_image(world, body):
    before = {*world.images.images}
    assert act(world, place(world, states.ERROR), body).status_code == 409
    assert {*world.images.images} == before


def test_a_backup_is_of_a_type_and_its_row_knows_how_many_are_kept(world):
    server = place(world)
    image = image_of(world, act(world, server, BACKUP))
    assert image.properties["image_type"] == "backup"
    assert image.properties["backup_type"] == "daily"
    assert "backup_rotation" not in image.properties
    assert operation(world, server).params.image.properties["backup_rotation"] == "2"


def test_a_backup_of_which_none_is_kept_is_not_named(world):
    body = {"createBackup": BACKUP["createBackup"] | {"rotation": "0"}}
    answer = act(world, place(world), body, version="2.44")
    assert (answer.content, answer.headers.get("Location")) == (b"", None)


@pytest.mark.parametrize(
    "body",
    [
        {"createImage": {}},
        {"createImage": {"name": " "}},
        {"createImage": {"name": "a", "metadata": {"a": 1}}},
        {"createBackup": {"name": "a", "backup_type": "daily"}},
        {"createBackup": {"name": "a", "backup_type": "daily", "rotation": -1}},
        {"createBackup": {"name": "a", "backup_type": "daily", "rotation": "often"}},
    ],
)
def test_an_image_or_backup_that_cannot_be_meant_is_refused(world, body):
    server = place(world)
    assert act(world, server, body).status_code == 400
    assert task_of(world, server) is None


@pytest.mark.parametrize("body", [RESCUE, REBUILD])
def test_who_is_not_to_hear_passwords_hears_none(world, body):
    options = world.parts.options
    object.__setattr__(options, "instance_password", False)
    try:
        answer = act(world, place(world), body)
    finally:
        object.__setattr__(options, "instance_password", True)
    assert answer.status_code in (200, 202)
    assert "adminPass" not in answer.text


@pytest.mark.parametrize("body", [RESCUE, PASSWORD, REBUILD])
def test_no_database_keeps_a_password(world, body):
    server = place(world)
    word, asked = next(iter(body.items()))
    act(world, server, {word: (asked or {}) | {"adminPass": "s3cret-s3cret"}})
    with world.databases[CELL1].engine.connect() as connection:
        kept = "\n".join(connection.connection.iterdump())
    assert server.uuid in kept
    assert "s3cret" not in kept
