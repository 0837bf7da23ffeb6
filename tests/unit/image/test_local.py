"""Images in a folder."""

import hashlib
import io
import json
import logging

import pytest

from roost import conf, exception
from roost.image import plugins
from roost.image.local import LocalImageStore


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
    return store.add(name="tiny", data=io.BytesIO(b"tiny"), owner="project")


def description(store, image):
    return store.path / f"{image.id}.json"


def test_an_image_is_described_as_it_was_added(store):
    added = store.add(
        name="tiny",
        data=io.BytesIO(b"tiny"),
        disk_format="qcow2",
        min_ram=64,
        min_disk=2,
        properties={"os_distro": "debian"},
        visibility="private",
        owner="project",
    )
    assert store.get(added.id) == added
    assert (added.size, added.sha256) == (4, hashlib.sha256(b"tiny").hexdigest())
    assert (added.status, added.container_format) == ("active", "bare")
    assert added.properties == {"os_distro": "debian"}


def test_an_image_can_be_read(store, image):
    with store.open(image.id) as data:
        assert data.read() == b"tiny"


def test_images_are_listed_the_oldest_first(store):
    added = [store.add(name=name, data=io.BytesIO(b"")) for name in "cab"]
    assert [image.name for image in store.list_images()] == ["c", "a", "b"]
    assert store.list_images() == added


def test_a_store_without_a_folder_is_empty(store):
    assert store.list_images() == []


def test_a_deleted_image_is_gone(store, image):
    store.delete(image.id)
    assert list(store.path.iterdir()) == []
    with pytest.raises(exception.NotFound, match=image.id):
        store.get(image.id)


@pytest.mark.parametrize(
    "image_id", ["ad7bb6bd-d979-441d-8571-64acf18086ed", "../../etc/passwd", "", "tiny"]
)
@pytest.mark.parametrize("method", ["get", "open", "delete"])
def test_what_is_not_there_is_not_found(store, image, method, image_id):
    with pytest.raises(exception.NotFound):
        getattr(store, method)(image_id)


def test_an_image_whose_data_breaks_off_is_not_added(store):
    with pytest.raises(OSError, match="connection lost"):
        store.add(name="tiny", data=Breaking(b"tiny"))
    assert store.list_images() == []
    assert list(store.path.iterdir()) == []


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
        store.get(image.id)
    with pytest.raises(exception.Internal, match=image.id):
        store.open(image.id)


def test_a_damaged_image_does_not_hide_the_others(store, image, caplog):
    damaged = store.add(name="damaged", data=io.BytesIO(b""))
    description(store, damaged).write_text("{")
    with caplog.at_level(logging.ERROR):
        assert store.list_images() == [image]
    assert damaged.id in caplog.text


def test_a_damaged_image_can_be_deleted(store, image):
    description(store, image).write_text("{")
    store.delete(image.id)
    assert list(store.path.iterdir()) == []


@pytest.mark.parametrize(
    "bad", [{"disk_format": "tape"}, {"visibility": "secret"}, {"min_ram": -1}, {"min_disk": -1}]
)
def test_values_that_mean_nothing_are_refused(store, bad):
    with pytest.raises(exception.Invalid):
        store.add(name="tiny", data=io.BytesIO(b""), **bad)
    assert store.list_images() == []


def test_the_folder_is_an_option_or_below_the_state_path(tmp_path):
    named = conf.of({"image": {"local_path": str(tmp_path / "named")}})
    below = conf.of({"DEFAULT": {"state_path": str(tmp_path)}})
    assert plugins.load_store(named).path == tmp_path / "named"
    assert plugins.load_store(below).path == tmp_path / "images"


def test_an_unknown_store_is_named_with_its_option():
    with pytest.raises(exception.Invalid, match=r"\[image\] store = vapour"):
        plugins.load_store(conf.of({"image": {"store": "vapour"}}))
