"""Rebuilds, rescues and passwords on a host: once, twice, too late, with trouble."""

import datetime
import hashlib
import io
import threading

import pytest

from roost import exception, states
from roost.compute.operations import operation_queue, snapshot
from roost.context import admin_context
from roost.objects import GuestConfig, ImageMeta, InjectedFile
from roost.operations.kinds import CREATE_BACKUP, CREATE_IMAGE, OF_TASK, REBUILD
from tests.builders import NOW, a_context, an_image
from tests.unit.compute.conftest import run
from tests.unit.compute.test_config_drive import Disc

TASKS_OF_IMAGES = sorted({*CREATE_IMAGE.tasks, *CREATE_BACKUP.tasks})
REST = (states.ACTIVE, states.STOPPED, states.ERROR)


class Simple:
    """A hypervisor that can do none of what not all can."""

    def __init__(self, virt):
        self.describe = virt.describe


@pytest.fixture
def other(rig):
    """Another image than the one that servers here are booted from."""
    return rig.store.add(a_context(), name="other", data=io.BytesIO(b"other"))


@pytest.fixture
def server(rig, boot, other):
    """Boot a server, and put its row under a task as the API does."""

    def server(task, vm_state=states.ACTIVE):
        manager, instance = rig.manager(), rig.instance()
        boot(manager, instance)
        if vm_state == states.STOPPED:
            rig.virt.power_off(instance.uuid)
        instance.vm_state, instance.task_state = vm_state, task
        rig.conductor.images[instance.uuid] = other
        instance.attempt += task in REBUILD.tasks
        rig.conductor.events[instance.uuid].clear()
        return manager, instance

    return server


def do(manager, instance, task, **told):
    run(manager, instance, kind=OF_TASK[task].name, **told)


def guest_of(rig, instance):
    return rig.virt.contents(instance.uuid)


def image_of(rig, image):
    how = {"stopping": threading.Event(), "user": "a test"}
    where = rig.host.images.ensure(a_context(), image, **how)
    return str(where)


def steps(rig, instance):
    return [(e.event, e.result) for e in rig.conductor.events[instance.uuid]]


@pytest.mark.parametrize("vm_state", REST)
@pytest.mark.parametrize("task", REBUILD.tasks)
def test_a_rebuild_makes_the_guest_anew_wherever_it_was_left(rig, server, other, task, vm_state):
    manager, instance = server(task, vm_state)
    before = guest_of(rig, instance)
    do(manager, instance, task)
    power = states.SHUTDOWN if vm_state == states.STOPPED else states.RUNNING
    rests = states.STOPPED if vm_state == states.STOPPED else states.ACTIVE
    assert (instance.vm_state, instance.task_state) == (rests, None)
    assert (instance.image.id, instance.power_state) == (other.id, power)
    after = guest_of(rig, instance)
    made = {"image": image_of(rig, other), "power_state": power, "attempt": 2}
    assert after == before | made
    assert steps(rig, instance) == [
        (f"compute.{name}", "Success") for name in ("image", "clear", "spawn")
    ]


def test_a_rebuilt_guest_finds_the_files_that_its_row_has_by_then(rig, server):
    manager, instance = server(states.REBUILDING)
    files = [InjectedFile.of(path="/etc/motd", contents="aGVsbG8=")]
    instance.provisions, instance.config_drive = GuestConfig.of(files=files), True
    do(manager, instance, states.REBUILDING)
    assert guest_of(rig, instance)["files"] == {"/etc/motd": "aGVsbG8="}
    drive = Disc(rig.virt.config_drive(instance.uuid).read_bytes()).files("rr")
    assert drive["openstack/content/0000"] == b"hello"


def test_a_rebuild_of_an_image_that_is_gone_spares_the_old_guest_and_is_an_error(
    rig, server, other
):
    manager, instance = server(states.REBUILDING)
    before = guest_of(rig, instance)
    rig.store.delete(admin_context(), other.id)
    do(manager, instance, states.REBUILDING)
    assert (instance.vm_state, instance.task_state) == (states.ERROR, None)
    assert guest_of(rig, instance) == before
    assert instance.image.id == rig.image.id
    assert "cannot be fetched" in rig.conductor.faults[instance.uuid]


def test_a_rebuild_to_what_the_hypervisor_will_not_make_spares_the_old_guest(rig, server, other):
    def check(instance):
        raise exception.BuildFailed(f"not of {instance.image.id}", reschedulable=False)

    manager, instance = server(states.REBUILDING)
    before = guest_of(rig, instance)
    rig.virt.check = check
    do(manager, instance, states.REBUILDING)
    assert (instance.vm_state, instance.image.id) == (states.ERROR, rig.image.id)
    assert guest_of(rig, instance) == before
    assert other.id in rig.conductor.faults[instance.uuid]


@pytest.mark.parametrize("step", ["prepare", "spawn"])
def test_a_rebuild_that_fails_leaves_no_half_of_a_guest_and_can_be_done_again(
    rig, server, other, step
):
    manager, instance = server(states.REBUILDING)
    rig.trouble({"step": step, "kind": "crash", "message": "no luck"})
    do(manager, instance, states.REBUILDING)
    assert (instance.vm_state, instance.task_state) == (states.ERROR, None)
    assert rig.virt.list_guests() == []
    assert "no luck" not in rig.conductor.faults[instance.uuid]
    assert "no luck" in rig.conductor.events[instance.uuid][-1].details
    rig.trouble()
    instance.task_state = states.REBUILDING
    instance.attempt += 1
    do(manager, instance, states.REBUILDING)
    assert (instance.vm_state, rig.virt.list_guests()) == (states.ACTIVE, [instance.uuid])


def test_a_delete_that_comes_into_a_rebuild_wins(rig, server, monkeypatch):
    manager, instance = server(states.REBUILDING)
    spawn = rig.virt.spawn

    def meanwhile(*args, **more):
        instance.task_state = states.DELETING
        rig.leases.renew()
        spawn(*args, **more)
        raise RuntimeError("it failed, too")

    monkeypatch.setattr(rig.virt, "spawn", meanwhile)
    do(manager, instance, states.REBUILDING)
    assert (instance.vm_state, instance.task_state) == (states.ACTIVE, states.DELETING)
    run(manager, instance, kind="delete")
    rig.assert_clean_slate()


def test_the_guest_is_not_touched_before_its_row_says_so(rig, server):
    manager, instance = server(states.REBUILDING)
    before = guest_of(rig, instance)
    rig.conductor.fail("advance_operation", exception.Conflict("somebody was faster"))
    do(manager, instance, states.REBUILDING)
    assert guest_of(rig, instance) == before
    assert (instance.vm_state, instance.task_state) == (states.ACTIVE, states.REBUILDING)


@pytest.mark.parametrize("vm_state", REST)
def test_a_rescued_guest_runs_from_the_other_image_until_it_is_unrescued(
    rig, server, other, vm_state
):
    manager, instance = server(states.RESCUING, vm_state)
    before = guest_of(rig, instance)
    do(manager, instance, states.RESCUING, password="secret")
    assert (instance.vm_state, instance.task_state) == (states.RESCUED, None)
    assert rig.virt.describe(instance.uuid).rescued
    rescued = guest_of(rig, instance)
    assert rescued["rescued_from"] == image_of(rig, other)
    assert rescued["rescue_password"] == hashlib.sha256(b"secret").hexdigest()
    instance.task_state = states.UNRESCUING
    do(manager, instance, states.UNRESCUING)
    assert (instance.vm_state, instance.task_state) == (states.ACTIVE, None)
    assert guest_of(rig, instance) == before | {"power_state": states.RUNNING}


def test_a_rescue_told_twice_keeps_the_password_of_the_first(rig, server, other):
    manager, instance = server(states.RESCUING)
    do(manager, instance, states.RESCUING, password="secret")
    first = guest_of(rig, instance)
    instance.task_state = states.RESCUING
    do(manager, instance, states.RESCUING)
    assert guest_of(rig, instance) == first


def test_a_rescue_that_fails_leaves_the_server_as_it_was_and_says_why(rig, server):
    manager, instance = server(states.RESCUING)
    rig.trouble({"step": "power", "kind": "final", "message": "no luck"})
    do(manager, instance, states.RESCUING)
    assert (instance.vm_state, instance.task_state) == (states.ACTIVE, None)
    assert "no luck" in rig.conductor.faults[instance.uuid]
    assert not rig.virt.describe(instance.uuid).rescued


def test_a_password_reaches_the_guest_and_is_not_kept_as_it_is(rig, server):
    manager, instance = server(states.UPDATING_PASSWORD)
    do(manager, instance, states.UPDATING_PASSWORD, password="secret")
    assert (instance.vm_state, instance.task_state) == (states.ACTIVE, None)
    assert guest_of(rig, instance)["password"] == hashlib.sha256(b"secret").hexdigest()


@pytest.mark.parametrize(
    ("task", "message"),
    [
        (states.RESCUING, "cannot rescue"),
        (states.UNRESCUING, "cannot rescue"),
        (states.UPDATING_PASSWORD, "cannot set its password"),
        (states.IMAGE_BACKUP, "cannot make images"),
    ],
)
def test_what_the_hypervisor_cannot_do_is_said(rig, server, task, message):
    manager, instance = server(task)
    object.__setattr__(rig.host, "virt", Simple(rig.virt))
    do(manager, instance, task, password="secret")
    assert (instance.vm_state, instance.task_state) == (states.ACTIVE, None)
    assert message in rig.conductor.faults[instance.uuid]


class Shots:
    """Makes images of one server, as the API begins them."""

    def __init__(self, rig, server):
        self.rig, self.at = rig, NOW
        self.manager, self.instance = server(None)

    def begin(self, task=states.IMAGE_SNAPSHOT_PENDING, *, rotation=None, **properties):
        properties["instance_uuid"] = self.instance.uuid
        self.at += datetime.timedelta(seconds=1)
        image = an_image(owner="project", properties=properties, created_at=self.at)
        image = self.rig.store.create(a_context(), image)
        told = {} if rotation is None else {snapshot.ROTATION: str(rotation)}
        asked = ImageMeta.of(**image.values() | {"properties": properties | told})
        self.instance.task_state = task
        self.rig.conductor.images[self.instance.uuid] = asked
        return image

    def take(self, *args, **more):
        image = self.begin(*args, **more)
        do(self.manager, self.instance, self.instance.task_state, image=image)
        return image

    def backup(self, kind="daily", rotation=2):
        return self.take(
            states.IMAGE_BACKUP, rotation=rotation, image_type="backup", backup_type=kind
        )

    def feign(self, owner, kind="daily"):
        """Let another project make an image that calls itself a backup of this server."""
        properties = {"image_type": "backup", "backup_type": kind}
        properties["instance_uuid"] = self.instance.uuid
        self.at += datetime.timedelta(seconds=1)
        return self.rig.store.add(
            a_context(project_id=owner),
            name="mine",
            data=io.BytesIO(b"nothing"),
            properties=properties,
            visibility="public",
            owner=owner,
        )

    def kept(self):
        found = self.rig.store.list_images(admin_context())
        return [image.id for image in found if "instance_uuid" in image.properties]


@pytest.fixture
def shots(rig, server):
    return Shots(rig, server)


@pytest.mark.parametrize("task", TASKS_OF_IMAGES)
def test_an_image_has_what_is_on_the_disk_wherever_it_was_left(rig, shots, boot, task):
    image = shots.take(task)
    assert rig.store.get(admin_context(), image.id).status == "active"
    with rig.store.open(admin_context(), image.id) as data:
        assert data.read().startswith(b"tiny")
    instance = shots.instance
    assert (instance.vm_state, instance.task_state) == (states.ACTIVE, None)
    assert rig.virt.describe(instance.uuid).power_state == states.RUNNING
    again = rig.instance(image=rig.store.get(admin_context(), image.id))
    boot(shots.manager, again)
    assert again.vm_state == states.ACTIVE


@pytest.mark.parametrize("where", ["driver", "store"])
def test_an_image_that_fails_goes_and_the_server_is_as_before(rig, shots, where, monkeypatch):
    if where == "driver":
        rig.trouble({"step": "snapshot", "kind": "final", "message": "no luck"})
    else:
        broken = exception.Unavailable("no luck")
        monkeypatch.setattr(rig.store, "upload", _raising(broken))
    shots.take()
    assert shots.kept() == []
    assert (shots.instance.vm_state, shots.instance.task_state) == (states.ACTIVE, None)
    assert rig.conductor.faults[shots.instance.uuid]


def _raising(error):
    def fail(*_args, **_more):
        raise error

    return fail


def test_an_image_that_was_sent_before_is_not_sent_again(rig, shots, monkeypatch):
    image = shots.begin()
    rig.store.upload(a_context(), image.id, io.BytesIO(b"whole"))
    do(shots.manager, shots.instance, states.IMAGE_SNAPSHOT_PENDING, image=image)
    with rig.store.open(admin_context(), image.id) as data:
        assert data.read() == b"whole"
    assert shots.instance.task_state is None


def test_an_image_of_a_server_that_is_deleted_meanwhile_goes(rig, shots, monkeypatch):
    taken = rig.virt.snapshot

    def meanwhile(*args, **more):
        shots.instance.task_state = states.DELETING
        return taken(*args, **more)

    monkeypatch.setattr(rig.virt, "snapshot", meanwhile)
    shots.take()
    assert shots.kept() == []
    assert shots.instance.task_state == states.DELETING


def test_backups_take_the_place_of_the_oldest_of_their_type(shots):
    weekly, image = shots.backup("weekly"), shots.take()
    _first, second, third = [shots.backup() for _ in range(3)]
    assert shots.kept() == [weekly.id, image.id, second.id, third.id]


def test_images_of_other_projects_push_no_backup_out_and_are_not_deleted(shots):
    """They are public, so everybody's store lists them; they are newer than the backups."""
    first = shots.backup()
    feigned = [shots.feign("another-project").id for _ in range(3)]
    second = shots.backup()
    assert set(shots.kept()) == {first.id, second.id, *feigned}


@pytest.mark.parametrize("task", [task for task, kind in OF_TASK.items() if not kind.is_move])
def test_a_task_that_is_over_or_somebody_elses_is_left_alone(rig, server, task):
    manager, instance = server(task)
    instance.host = "h2"
    before = guest_of(rig, instance)
    do(manager, instance, task)
    run(manager, rig.instance(host="h2"), kind=OF_TASK[task].name)
    assert guest_of(rig, instance) == before
    assert instance.task_state == task


def test_an_operation_that_the_host_does_not_know_ends_with_that_reason(rig, server, monkeypatch):
    manager, instance = server(states.RESCUING)
    before = guest_of(rig, instance)
    monkeypatch.setattr(operation_queue, "KINDS", {})
    do(manager, instance, states.RESCUING)
    assert guest_of(rig, instance) == before
    assert (instance.vm_state, instance.task_state) == (states.ACTIVE, None)
    assert "too old" in rig.conductor.faults[instance.uuid]
