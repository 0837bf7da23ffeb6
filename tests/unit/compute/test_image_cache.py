"""Images of a host are fetched once, and are what they should be."""

import io
import threading

import pytest

from roost import exception
from roost.compute.image import ImageCache
from tests.builders import an_image


class CountingStore:
    """Hands out one content for every image, as slowly as the test lets it."""

    def __init__(self, content=b"tiny"):
        self.content = content
        self.opened = 0
        self.go_on = threading.Event()
        self.go_on.set()

    def open(self, image_id):
        self.opened += 1
        assert self.go_on.wait(10)
        return io.BytesIO(self.content)


@pytest.fixture
def store():
    return CountingStore()


@pytest.fixture
def cache(store, tmp_path):
    return ImageCache(store, folder=tmp_path / "cache")


@pytest.fixture
def image(rig):
    return rig.image


def test_an_image_is_fetched_whole(cache, image):
    assert cache.ensure(image).read_bytes() == b"tiny"


def test_an_image_is_fetched_once(cache, store, image):
    assert cache.ensure(image) == cache.ensure(image)
    assert store.opened == 1


def test_a_host_that_starts_again_finds_its_images(cache, store, image, tmp_path):
    cache.ensure(image)
    ImageCache(store, folder=tmp_path / "cache").ensure(image)
    assert store.opened == 1


def test_many_builds_at_once_fetch_an_image_once(cache, store, image, wait_until):
    store.go_on.clear()
    found = []
    wanting = [threading.Thread(target=lambda: found.append(cache.ensure(image))) for _ in range(8)]
    for thread in wanting:
        thread.start()
    wait_until(lambda: store.opened == 1)
    store.go_on.set()
    for thread in wanting:
        thread.join()
    assert len(found) == 8
    assert store.opened == 1


def test_a_damaged_image_is_final_and_names_both_checksums(cache, store, image, tmp_path):
    store.content = b"tinu"
    with pytest.raises(exception.BuildFailed, match=image.sha256) as failed:
        cache.ensure(image)
    assert not failed.value.reschedulable
    assert "but is 83a3b4" in failed.value.message
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_damaged_image_is_fetched_anew_next_time(cache, store, image):
    store.content = b"tinu"
    with pytest.raises(exception.BuildFailed):
        cache.ensure(image)
    store.content = b"tiny"
    assert cache.ensure(image).read_bytes() == b"tiny"


def test_an_image_that_is_gone_is_final(rig):
    with pytest.raises(exception.BuildFailed) as failed:
        rig.host.images.ensure(an_image())
    assert not failed.value.reschedulable


def test_what_a_killed_host_left_half_fetched_is_no_image(cache, image, tmp_path):
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / f"{image.sha256}.part").write_bytes(b"ti")
    assert cache.ensure(image).read_bytes() == b"tiny"
