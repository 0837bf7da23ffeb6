"""Images in a folder."""

import errno
import hashlib
import io
import json
import logging
import os
import time
from concurrent import futures

import pytest

from roost import conf, exception
from roost.context import admin_context
from roost.image import driver
from roost.image.driver import EditableImageStore, ImageMember
from roost.image.local import LocalImageStore
from roost.objects import ImageMeta
from tests.builders import NOW, a_context, an_image

ADMIN = admin_context()


class Breaking(io.BytesIO):
    """Data whose source is lost after its first bytes."""

    def read(self, size=-1):
        found = super().read(2)
        if self.tell() > 2:
            raise OSError("connection lost")
        return found


@pytest.fixture
def store(tmp_path):
    return LocalImageStore(tmp_path / "images")


@pytest.fixture
def image(store):
    return store.add(ADMIN, name="tiny", data=io.BytesIO(b"tiny"), owner="project")


def left(store):
    """Return what is in the folder, but the lock of those who change it."""
    return [path for path in store.path.iterdir() if path.name != ".lock"]


def queued(store, **values):
    return store.create(ADMIN, an_image(**values))


def description(store, image):
    return store.path / f"{image.id}.json"


def test_an_image_is_described_as_it_was_added(store):
    added = store.add(
        ADMIN,
        name="tiny",
        data=io.BytesIO(b"tiny"),
        disk_format="qcow2",
        min_ram=64,
        min_disk=2,
        properties={"os_distro": "debian"},
        visibility="private",
        owner="project",
    )
    assert store.get(ADMIN, added.id) == added
    assert (added.size, added.hash_value) == (4, hashlib.sha256(b"tiny").hexdigest())
    assert (added.status, added.container_format) == ("active", "bare")
    assert added.properties == {"os_distro": "debian"}


def test_an_image_can_be_read(store, image):
    with store.open(ADMIN, image.id) as data:
        assert data.read() == b"tiny"


def test_images_are_listed_the_oldest_first(store):
    added = [store.add(ADMIN, name=name, data=io.BytesIO(b"")) for name in "cab"]
    assert [image.name for image in store.list_images(ADMIN)] == ["c", "a", "b"]
    assert store.list_images(ADMIN) == added


def test_a_store_without_a_folder_is_empty(store):
    assert store.list_images(ADMIN) == []


def test_a_deleted_image_is_gone(store, image):
    store.delete(ADMIN, image.id)
    assert left(store) == []
    with pytest.raises(exception.NotFound, match=image.id):
        store.get(ADMIN, image.id)


@pytest.mark.parametrize(
    "image_id", ["ad7bb6bd-d979-441d-8571-64acf18086ed", "../../etc/passwd", "", "tiny"]
)
@pytest.mark.parametrize("method", ["get", "open", "delete"])
def test_what_is_not_there_is_not_found(store, image, method, image_id):
    with pytest.raises(exception.NotFound):
        getattr(store, method)(ADMIN, image_id)


def test_an_image_whose_data_breaks_off_is_not_added(store):
    with pytest.raises(OSError, match="connection lost"):
        store.add(ADMIN, name="tiny", data=Breaking(b"tiny"))
    assert store.list_images(ADMIN) == []
    assert left(store) == []


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_text("{"),
        lambda path: path.write_text("[]"),
        lambda path: path.write_text(json.dumps({"name": "tiny"})),
        lambda path: path.with_suffix(".img").unlink(),
        lambda path: path.with_suffix(".img").write_bytes(b"ti"),
    ],
)
def test_a_damaged_image_is_an_error_that_names_it(store, image, damage):
    damage(description(store, image))
    with pytest.raises(exception.Internal, match=image.id):
        store.get(ADMIN, image.id)
    with pytest.raises(exception.Internal, match=image.id):
        store.open(ADMIN, image.id)


def test_a_damaged_image_does_not_hide_the_others(store, image, caplog):
    damaged = store.add(ADMIN, name="damaged", data=io.BytesIO(b""))
    description(store, damaged).write_text("{")
    with caplog.at_level(logging.ERROR):
        assert store.list_images(ADMIN) == [image]
    assert damaged.id in caplog.text


def test_a_damaged_image_can_be_deleted(store, image):
    description(store, image).write_text("{")
    store.delete(ADMIN, image.id)
    assert left(store) == []


@pytest.mark.parametrize(
    "bad", [{"disk_format": "tape"}, {"visibility": "secret"}, {"min_ram": -1}, {"min_disk": -1}]
)
def test_values_that_mean_nothing_are_refused(store, bad):
    with pytest.raises(exception.Invalid):
        store.add(ADMIN, name="tiny", data=io.BytesIO(b""), **bad)
    assert store.list_images(ADMIN) == []


def test_the_folder_is_an_option_or_below_the_state_path(tmp_path):
    named = conf.of({"image": {"local_path": str(tmp_path / "named")}})
    below = conf.of({"DEFAULT": {"state_path": str(tmp_path)}})
    assert driver.load_store(named).path == tmp_path / "named"
    assert driver.load_store(below).path == tmp_path / "images"


def test_an_unknown_store_is_named_with_its_option():
    with pytest.raises(exception.Invalid, match=r"\[image\] store = vapour"):
        driver.load_store(conf.of({"image": {"store": "vapour"}}))


def test_a_damaged_image_is_deleted_by_administrators_only(store, image):
    description(store, image).write_text("{")
    with pytest.raises(exception.Internal):
        store.delete(a_context(), image.id)
    assert description(store, image).exists()


class Meanwhile(io.BytesIO):
    """Data during which something else happens."""

    def __init__(self, happens):
        super().__init__(b"late")
        self.happens = happens

    def read(self, size=-1):
        happens, self.happens = self.happens, lambda: None
        happens()
        return super().read(size)


def test_what_a_daemon_left_half_written_that_died_goes_a_day_later(store):
    image, now = queued(store), time.time()
    young, old = (store.path / f".{image.id}.img.{name}.part" for name in ("young", "old"))
    for part, hours in ((young, 23), (old, 25)):
        part.write_bytes(b"half")
        os.utime(part, (now - hours * 3600,) * 2)
    store.upload(ADMIN, image.id, io.BytesIO(b"tiny"))
    assert (young.exists(), old.exists()) == (True, False)


def test_users_may_fill_it(store):
    assert isinstance(store, EditableImageStore)


def test_data_that_breaks_off_leaves_the_image_waiting(store):
    image = queued(store)
    with pytest.raises(OSError, match="lost"):
        store.upload(ADMIN, image.id, Breaking(b"tiny"))
    assert [path.name for path in left(store)] == [f"{image.id}.json"]
    assert store.upload(ADMIN, image.id, io.BytesIO(b"tiny")).status == "active"


def test_of_two_uploads_one_counts(store):
    image = queued(store)
    late = Meanwhile(lambda: store.upload(ADMIN, image.id, io.BytesIO(b"tiny")))
    with pytest.raises(exception.Conflict, match="has its data"):
        store.upload(ADMIN, image.id, late)
    with store.open(ADMIN, image.id) as data:
        assert data.read() == b"tiny"
    assert len(left(store)) == 2


def test_an_image_deleted_during_its_upload_is_gone(store):
    image = queued(store)
    with pytest.raises(exception.NotFound):
        store.upload(ADMIN, image.id, Meanwhile(lambda: store.delete(ADMIN, image.id)))
    assert left(store) == []


def test_a_change_is_made_of_what_is_there_then(store, image):
    def renamed(found):
        return ImageMeta.of(**found.values() | {"name": f"{found.name}!"})

    with futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: store.change(ADMIN, image.id, renamed), range(8)))
    assert store.get(ADMIN, image.id).name == "tiny!!!!!!!!"
    assert store.get(ADMIN, image.id).updated_at > image.updated_at


@pytest.mark.parametrize("text", ["x", "\n", "ä", "🐦"])
def test_a_description_is_no_longer_than_lists_can_read(store, image, text):
    def described(found):
        return ImageMeta.of(**found.values() | {"properties": {"long": text * (64 << 10)}})

    for more in (
        lambda: store.change(ADMIN, image.id, described),
        lambda: store.change_properties(ADMIN, image.id, lambda _: described(image).properties),
        lambda: store.create(ADMIN, described(an_image())),
    ):
        with pytest.raises(exception.Invalid, match="65536 bytes at most"):
            more()
    assert store.get(ADMIN, image.id) == image
    assert (store.path / f"{image.id}.json").stat().st_size < 64 << 10


def test_a_change_that_means_nothing_is_refused(store, image):
    def ruined(found):
        return ImageMeta.of(**found.values() | {"min_ram": -1})

    with pytest.raises(exception.Invalid, match="min_ram"):
        store.change(ADMIN, image.id, ruined)
    assert store.get(ADMIN, image.id) == image


def test_a_folder_that_is_full_is_told_as_such(store):
    class Full(io.BytesIO):
        def read(self, size=-1):
            raise OSError(errno.ENOSPC, "no space left")

    with pytest.raises(exception.Unavailable, match="no room"):
        store.upload(ADMIN, queued(store).id, Full())


def test_an_image_that_an_older_release_described_has_no_tags_and_no_protection(store, image):
    told = json.loads(description(store, image).read_text())
    del told["tags"], told["protected"]
    description(store, image).write_text(json.dumps(told))
    assert store.get(ADMIN, image.id) == image
    assert (image.tags, image.protected) == ([], False)


def test_a_protected_image_is_kept_from_everybody(store):
    image = queued(store, protected=True)
    with pytest.raises(exception.Forbidden, match="protected"):
        store.delete(ADMIN, image.id)
    assert store.get(ADMIN, image.id).protected


BOB = a_context(project_id="bob")


@pytest.fixture
def shared(store):
    """An image that is shared with Bob's project."""
    image = queued(store, visibility="shared", owner="project")
    store.change_members(ADMIN, image.id, lambda _: [ImageMember("bob", "pending", NOW, NOW)])
    return image


def test_a_shared_image_is_seen_by_its_members_and_changed_by_its_owner(store, shared):
    assert store.get(BOB, shared.id) == shared
    assert store.list_images(BOB) == [shared]
    with pytest.raises(exception.Forbidden):
        store.delete(BOB, shared.id)
    with pytest.raises(exception.NotFound):
        store.get(a_context(project_id="carol"), shared.id)


def test_an_image_that_is_private_again_is_not_for_its_members(store, shared):
    store.change(
        ADMIN, shared.id, lambda found: ImageMeta.of(**found.values() | {"visibility": "private"})
    )
    with pytest.raises(exception.NotFound):
        store.get(BOB, shared.id)
    assert [one.project_id for one in store.members(ADMIN, shared.id)] == ["bob"]


def test_members_are_changed_by_one_at_a_time(store, shared):
    def one_more(members):
        return [*members, ImageMember(f"p{len(members)}", "pending", NOW, NOW)]

    with futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: store.change_members(ADMIN, shared.id, one_more), range(8)))
    known = [one.project_id for one in store.members(ADMIN, shared.id)]
    assert known == ["bob", *(f"p{number}" for number in range(1, 9))]


def test_with_an_image_its_members_are_forgotten(store, shared):
    store.delete(ADMIN, shared.id)
    assert left(store) == []


def test_damaged_members_are_told_as_such(store, shared):
    (store.path / f"{shared.id}.members.json").write_text("[{}]")
    with pytest.raises(exception.Internal, match=r"members\.json is damaged"):
        store.members(ADMIN, shared.id)
