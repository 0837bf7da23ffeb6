"""What every image store promises, whoever keeps the images.

A module that imports these tests has a fixture ``store`` and names who asks: ``ALICE`` and ``BOB``,
of projects of these names, and ``ADMIN``, an administrator of a third.
"""

import hashlib
import io

import pytest

from roost import exception
from tests.builders import an_image

TINY = b"tiny" * 1000
NOBODYS = "ad7bb6bd-d979-441d-8571-64acf18086ed"


class Breaking(io.BytesIO):
    """Data whose source is lost after its first bytes."""

    def read(self, size=-1):
        if self.tell():
            raise OSError("source lost")
        return super().read(2)


class Piped(io.RawIOBase):
    """Data whose length nobody knows in advance."""

    def __init__(self, data):
        self._data = io.BytesIO(data)

    def readable(self):
        return True

    def readinto(self, buffer):
        return self._data.readinto(buffer)


@pytest.fixture
def as_alice(request):
    return request.module.ALICE


@pytest.fixture
def as_bob(request):
    return request.module.BOB


@pytest.fixture
def as_admin(request):
    return request.module.ADMIN


@pytest.fixture
def add(store, as_alice):
    """Add an image that is Alice's."""

    def add(**values):
        data = io.BytesIO(values.pop("content", TINY))
        private = {"name": "tiny", "visibility": "private", "owner": as_alice.project_id}
        return store.add(as_alice, data=data, **private | values)

    return add


@pytest.fixture
def public(store, as_admin):
    return store.add(
        as_admin, name="all", data=io.BytesIO(TINY), visibility="public", owner=as_admin.project_id
    )


@pytest.fixture
def snapshot(store, as_alice):
    """An image of Alice's that waits for its data."""
    image = an_image(
        name="snapshot",
        visibility="private",
        owner=as_alice.project_id,
        min_disk=1,
        properties={"hw_disk_bus": "scsi", "image_type": "snapshot"},
    )
    return store.create(as_alice, image)


def read(store, context, image):
    with store.open(context, image.id) as data:
        return data.read()


def test_an_image_is_described_as_it_was_added(store, add, as_alice):
    properties = {"hw_machine_type": "q35", "os_distro": "debian", "ours": "yes"}
    added = add(min_ram=64, min_disk=2, properties=properties)
    found = store.get(as_alice, added.id)
    assert found == added
    assert (found.name, found.status, found.size) == ("tiny", "active", len(TINY))
    assert (found.disk_format, found.container_format) == ("raw", "bare")
    assert (found.min_ram, found.min_disk) == (64, 2)
    assert (found.visibility, found.owner) == ("private", as_alice.project_id)
    assert found.properties == properties


def test_an_image_has_the_hash_of_its_data(add):
    added = add()
    assert hashlib.new(added.hash_algo, TINY).hexdigest() == added.hash_value


def test_an_image_is_read_whole(store, add, as_alice):
    assert read(store, as_alice, add()) == TINY


def test_images_are_listed_the_oldest_first(store, add, as_alice):
    added = [add(name=name).id for name in "cab"]
    listed = [image.id for image in store.list_images(as_alice)]
    assert [each for each in listed if each in added] == added


def test_a_deleted_image_is_gone(store, add, as_alice):
    image = add()
    store.delete(as_alice, image.id)
    for method in (store.get, store.open, store.delete):
        with pytest.raises(exception.NotFound, match=image.id):
            method(as_alice, image.id)
    assert image.id not in [each.id for each in store.list_images(as_alice)]


@pytest.mark.parametrize("image_id", [NOBODYS, "../../etc/passwd", "", "tiny", "x?y=z"])
@pytest.mark.parametrize("method", ["get", "open", "delete"])
def test_what_is_not_there_is_not_found(store, as_alice, method, image_id):
    with pytest.raises(exception.NotFound):
        getattr(store, method)(as_alice, image_id)


@pytest.mark.parametrize("visibility", ["private", "shared"])
def test_private_images_of_others_are_not_found(store, add, as_bob, as_admin, visibility):
    image = add(visibility=visibility)
    for method in (store.get, store.open, store.delete):
        with pytest.raises(exception.NotFound):
            method(as_bob, image.id)
    assert image.id not in [each.id for each in store.list_images(as_bob)]
    assert store.get(as_admin, image.id) == image


def test_public_images_are_for_everybody_to_read(store, public, as_bob):
    assert read(store, as_bob, public) == TINY
    assert public.id in [each.id for each in store.list_images(as_bob)]
    with pytest.raises(exception.Forbidden):
        store.delete(as_bob, public.id)


def test_an_image_whose_data_breaks_off_is_not_added(store, as_alice):
    before = store.list_images(as_alice)
    with pytest.raises(OSError, match="source lost"):
        store.add(as_alice, name="half", data=Breaking(TINY), visibility="private")
    assert store.list_images(as_alice) == before


@pytest.mark.parametrize(
    "bad", [{"disk_format": "tape"}, {"visibility": "secret"}, {"min_ram": -1}]
)
def test_values_that_mean_nothing_are_refused(add, bad):
    with pytest.raises(exception.Invalid):
        add(**bad)


def test_an_image_waits_for_its_data_with_its_properties(store, snapshot, as_alice):
    found = store.get(as_alice, snapshot.id)
    assert (found.status, found.size, found.hash_value) == ("queued", 0, None)
    assert found.properties == {"hw_disk_bus": "scsi", "image_type": "snapshot"}
    with pytest.raises(exception.Conflict, match="not active"):
        store.open(as_alice, snapshot.id)


@pytest.mark.parametrize("source", [io.BytesIO, Piped])
def test_data_makes_an_image_active(store, snapshot, as_alice, source):
    done = store.upload(as_alice, snapshot.id, source(TINY))
    assert (done.status, done.size) == ("active", len(TINY))
    assert store.get(as_alice, snapshot.id) == done
    assert read(store, as_alice, snapshot) == TINY


def test_an_image_is_described_once(store, snapshot, as_alice):
    with pytest.raises(exception.Conflict):
        store.create(as_alice, snapshot)


def test_data_comes_once(store, snapshot, as_alice):
    store.upload(as_alice, snapshot.id, io.BytesIO(TINY))
    with pytest.raises(exception.Conflict):
        store.upload(as_alice, snapshot.id, io.BytesIO(b"other"))
    assert read(store, as_alice, snapshot) == TINY


def test_data_that_breaks_off_leaves_an_image_inactive(store, snapshot, as_alice):
    with pytest.raises(OSError, match="source lost"):
        store.upload(as_alice, snapshot.id, Breaking(TINY))
    assert store.get(as_alice, snapshot.id).status != "active"


def test_properties_are_changed_and_those_not_named_stay_as_edit_says(store, add, as_alice, as_bob):
    image = add(properties={"a": "1", "b/c~d": "2", "e": "3"})
    after = {"a": "1", "b/c~d": "two", "f": "4"}
    changed = store.change_properties(
        as_alice, image.id, lambda before: {**after, "g": before["e"]}
    )
    assert changed.properties == {**after, "g": "3"}
    assert store.get(as_alice, image.id).properties == changed.properties
    assert store.change_properties(as_alice, image.id, dict).properties == changed.properties
    with pytest.raises((exception.NotFound, exception.Forbidden)):
        store.change_properties(as_bob, image.id, lambda _: {})


def test_an_image_is_given_up_as_often_as_one_likes(store, snapshot, as_alice):
    for _ in range(2):
        store.abandon(as_alice, snapshot.id)
    with pytest.raises(exception.NotFound):
        store.get(as_alice, snapshot.id)


def test_an_image_that_has_its_data_is_not_given_up(store, add, as_alice):
    image = add()
    store.abandon(as_alice, image.id)
    assert store.get(as_alice, image.id) == image
