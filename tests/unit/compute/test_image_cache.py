"""Images of a host are fetched once, and are what they should be."""

import hashlib
import io
import os
import threading

import pytest

from roost import exception
from roost.compute.image_cache import ImageCache
from roost.context import project_context
from tests.builders import a_context, an_image


class Store:
    """Hands out one content for every image, as slowly as the test lets it, and notes who asks.

    ``troubles`` are raised first, one after another.
    """

    def __init__(self, content=b"tiny"):
        self.content = content
        self.troubles = []
        self.broken = []
        self.askers = []
        self.go_on = threading.Event()
        self.go_on.set()

    @property
    def opened(self):
        return len(self.askers)

    def open(self, context, image_id):
        self.askers.append(context)
        assert self.go_on.wait(10)
        if self.troubles:
            raise self.troubles.pop(0)
        return self.broken.pop() if self.broken else io.BytesIO(self.content)


@pytest.fixture
def store():
    return Store()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def cache(store, folder):
    return ImageCache(store, folder=folder, pause=0.001)


@pytest.fixture
def ensure(cache):
    def ensure(image, context=None, stopping=None):
        return had(cache, image, context=context, stopping=stopping or threading.Event())

    return ensure


@pytest.fixture
def image(rig):
    return rig.image


def had(cache, image, *, context=None, stopping=None, user="a build", **how):
    """Return where an image is, by whose user nothing is held any more."""
    how["stopping"] = stopping or threading.Event()
    try:
        return cache.ensure(context or a_context(), image, user=user, **how)
    finally:
        cache.release(user)


class BreakingOff(io.BytesIO):
    """Data that ends in trouble after its first bytes."""

    def read(self, size=-1):
        if self.tell():
            raise exception.Unavailable("broke off")
        return super().read(2)


def hashed(content, algorithm):
    return {"hash_algo": algorithm, "hash_value": hashlib.new(algorithm, content).hexdigest()}


def test_an_image_is_fetched_once(ensure, store, image):
    assert ensure(image) == ensure(image)
    assert store.opened == 1


def test_a_host_that_starts_again_finds_its_images(ensure, store, image, folder):
    ensure(image)
    had(ImageCache(store, folder=folder), image)
    assert store.opened == 1


def test_many_builds_at_once_fetch_an_image_once(ensure, store, image, wait_until):
    store.go_on.clear()
    found = []
    wanting = [threading.Thread(target=lambda: found.append(ensure(image))) for _ in range(8)]
    for thread in wanting:
        thread.start()
    wait_until(lambda: store.opened == 1)
    store.go_on.set()
    for thread in wanting:
        thread.join()
    assert len(found) == 8
    assert store.opened == 1


@pytest.mark.parametrize("algorithm", ["md5", "sha256", "sha512"])
def test_an_image_is_checked_by_the_hash_that_its_store_has(ensure, algorithm):
    assert ensure(an_image(**hashed(b"tiny", algorithm))).read_bytes() == b"tiny"
    with pytest.raises(exception.BuildFailed, match="damaged"):
        ensure(an_image(**hashed(b"tinu", algorithm)))


def test_an_image_without_a_hash_has_the_right_size_at_least(ensure):
    assert ensure(an_image(hash_algo=None, hash_value=None)).read_bytes() == b"tiny"
    with pytest.raises(exception.BuildFailed, match="it should be 5 bytes, but is 4 bytes"):
        ensure(an_image(hash_algo=None, hash_value=None, size=5))


def test_a_damaged_image_is_tried_again_and_then_elsewhere(ensure, store, image, folder):
    store.content = b"tinu"
    with pytest.raises(exception.BuildFailed, match=image.hash_value) as failed:
        ensure(image)
    assert failed.value.reschedulable
    assert "but is 83a3b4" in failed.value.message
    assert store.opened == 3
    assert list(folder.iterdir()) == []


def test_a_store_that_is_away_for_a_moment_is_asked_again(ensure, store, image):
    store.troubles = [exception.Unavailable("away"), exception.Timeout("slow")]
    assert ensure(image).read_bytes() == b"tiny"


def test_an_image_that_breaks_off_is_fetched_anew(ensure, store, image, folder):
    store.broken = [BreakingOff(b"tiny")]
    assert ensure(image).read_bytes() == b"tiny"
    assert [path.suffix for path in folder.iterdir()] == [".img"]


def test_a_store_that_stays_away_lets_another_host_try(ensure, store, image):
    store.troubles = [exception.Unavailable("away")] * 3
    with pytest.raises(exception.BuildFailed, match="away") as failed:
        ensure(image)
    assert failed.value.reschedulable


@pytest.mark.parametrize("kind", [exception.NotFound, exception.Forbidden, exception.Conflict])
def test_an_image_that_nobody_can_have_is_final(ensure, store, image, kind):
    store.troubles = [kind("no")]
    with pytest.raises(exception.BuildFailed) as failed:
        ensure(image)
    assert not failed.value.reschedulable
    assert store.opened == 1


def test_an_image_is_fetched_with_the_token_of_its_user(ensure, store, image):
    ensure(image, a_context(auth_token="secret"))
    assert [asker.auth_token for asker in store.askers] == ["secret"]


def test_a_host_without_a_token_asks_in_the_name_of_the_project(ensure, store, image):
    ensure(image, project_context("p1"))
    assert [_who(asker) for asker in store.askers] == [("p1", False, None)]


def test_a_host_whose_token_has_ended_still_asks_in_the_name_of_its_user(ensure, store, image):
    store.troubles = [exception.Unauthenticated("expired")]
    ensure(image, a_context(auth_token="old"))
    expected = [("project", False, "old"), ("project", False, None)]
    assert [_who(asker) for asker in store.askers] == expected


def _who(asker):
    return asker.project_id, bool(asker.is_admin), asker.auth_token


def test_fetching_ends_when_the_build_is_to_end(ensure, store, image, folder):
    stopping = threading.Event()
    stopping.set()
    with pytest.raises(exception.BuildFailed):
        ensure(image, stopping=stopping)
    assert store.opened == 1
    assert list(folder.iterdir()) == []


def test_what_a_killed_host_left_half_fetched_goes_when_it_starts(cache, ensure, image, folder):
    kept = ensure(image)
    (folder / "sha256-other.part").write_bytes(b"ti")
    cache.clear()
    assert [*folder.iterdir()] == [kept]


def test_an_image_that_no_build_has_wanted_for_long_goes(ageing, image, an_old):
    old, wanted = an_old(image), an_old(an_image(**hashed(b"tiny", "sha512")))
    had(ageing, an_image(**hashed(b"tiny", "sha512")))
    ageing.tidy()
    assert (old.exists(), wanted.exists()) == (False, True)


@pytest.fixture
def ageing(store, folder):
    return ImageCache(store, folder=folder, pause=0.001, lifetime=60.0)


@pytest.fixture
def an_old(ensure):
    """Fetch an image that nobody has wanted since."""

    def an_old(image):
        path = ensure(image)
        os.utime(path, (0, 0))
        return path

    return an_old


class Picky:
    """Lets images pass that are signed by whom it knows, and notes what it read of them."""

    def __init__(self, *, error=None):
        self.error = error
        self.asked = []

    def check(self, image, path, *, trusted):
        self.asked.append((path.read_bytes(), list(trusted)))
        if self.error:
            raise self.error


@pytest.mark.parametrize(
    ("error", "reschedulable"),
    [(exception.Invalid("badly signed"), False), (exception.Unavailable("no folder"), True)],
)
def test_an_image_that_is_not_signed_as_it_must_be_is_not_built_from(
    store, folder, image, error, reschedulable
):
    cache = ImageCache(store, folder=folder, signatures=Picky(error=error))
    with pytest.raises(exception.BuildFailed, match=error.message) as refused:
        had(cache, image, trusted=["a"])
    assert refused.value.reschedulable is reschedulable


def test_an_image_that_is_here_already_is_verified_for_each_build(store, folder, image):
    picky = Picky()
    cache = ImageCache(store, folder=folder, signatures=picky)
    for trusted in ([], ["a"], ["b"]):
        had(cache, image, trusted=trusted)
    assert store.opened == 1
    assert picky.asked == [(b"tiny", []), (b"tiny", ["a"]), (b"tiny", ["b"])]
