"""All images of a host have so many bytes at most."""

import dataclasses
import hashlib
import io
import random
import threading
from concurrent import futures

import pytest

from roost import exception, states
from roost.compute.image_cache import ImageCache
from roost.compute.operations.build import Build, build_flow, carry_out
from tests.builders import a_context, an_image
from tests.operation_rows import a_build
from tests.unit.compute.conftest import run

MOST = 10  # bytes


class Store:
    """Hands out images of this content, as slowly as the test lets it."""

    def __init__(self):
        self.contents = {}
        self.opened = []
        self.go_on = threading.Event()
        self.go_on.set()

    def image(self, content):
        digest = hashlib.sha256(content).hexdigest()
        image = an_image(size=len(content), hash_algo="sha256", hash_value=digest)
        self.contents[image.id] = content
        return image

    def open(self, context, image_id):
        self.opened.append(image_id)
        assert self.go_on.wait(10)
        return io.BytesIO(self.contents[image_id])


@pytest.fixture
def store():
    return Store()


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def cache(store, folder):
    return ImageCache(store, folder=folder, pause=0.001, most=MOST)


@pytest.fixture
def use(cache):
    """Have an image here, for a build that goes on with it."""

    def use(image, user="a build"):
        return cache.ensure(a_context(), image, stopping=threading.Event(), user=user)

    return use


def bytes_in(folder):
    return sum(path.stat().st_size for path in folder.iterdir())


def test_an_image_without_room_is_refused_for_another_host_to_try(store, use, folder):
    use(store.image(b"bbbbbb"), "slow")
    image = store.image(b"ccccc")
    with pytest.raises(exception.BuildFailed, match=rf"{image.id}.* has 5 bytes") as refused:
        use(image)
    assert "may have 10, of which 6 are in use" in refused.value.message
    assert refused.value.reschedulable
    assert image.id not in store.opened  # and nothing was fetched in vain
    assert [path.suffix for path in folder.iterdir()] == [".img"]


def test_an_image_that_is_refused_is_had_when_there_is_room(store, use, cache):
    use(store.image(b"aaaaaa"), "slow")
    image = store.image(b"bbbbb")
    with pytest.raises(exception.BuildFailed):
        use(image)
    cache.release("slow")
    assert use(image).read_bytes() == b"bbbbb"


def test_a_fetch_that_failed_leaves_its_room_to_others(store, use, folder):
    image = store.image(b"aaaaaa")
    store.contents[image.id] = b"aaaaab"
    with pytest.raises(exception.BuildFailed, match="damaged"):
        use(image)
    assert use(store.image(b"bbbbbbbbbb")).exists()
    assert bytes_in(folder) == 10


def test_no_more_of_an_image_comes_than_it_should_have(store, use, folder):
    image = store.image(b"aaaa")
    store.contents[image.id] = b"a" * 100
    with pytest.raises(exception.BuildFailed, match="it should be 4 bytes, but is more"):
        use(image)
    assert bytes_in(folder) == 0


def test_many_builds_at_once_never_have_more(store, cache, folder):
    """All get what they ask for, or are refused; what one was given is there until it lets go."""
    images = [store.image(bytes([65 + number]) * (number % 4 + 1)) for number in range(12)]
    most, refused, wrong = [0], [], []

    def build(number):
        chance = random.Random(number)
        for _ in range(30):
            image = chance.choice(images)
            try:
                how = {"stopping": threading.Event(), "user": number}
                path = cache.ensure(a_context(), image, **how)
            except exception.BuildFailed as error:
                refused.append(error)
            else:
                most[0] = max(most[0], _seen(folder))
                if path.read_bytes() != store.contents[image.id]:
                    wrong.append(path)
            cache.release(number)

    with futures.ThreadPoolExecutor(max_workers=6) as pool:
        for done in [pool.submit(build, number) for number in range(6)]:
            done.result()
    assert not wrong
    assert 0 < most[0] <= MOST
    assert bytes_in(folder) <= MOST


def _seen(folder):
    sizes = []
    for path in folder.glob("*.img"):
        try:
            sizes.append(path.stat().st_size)
        except FileNotFoundError:
            return 0  # seen at two moments: that says nothing
    return sum(sizes) if len(sizes) == len(list(folder.glob("*.img"))) else 0


@pytest.fixture
def small(rig, tmp_path):
    """A host whose images may have as many bytes as the rig's image, and no more."""
    images = ImageCache(rig.store, folder=tmp_path / "small" / "images", most=4)
    rig.host = dataclasses.replace(rig.host, images=images)
    return rig


def test_a_build_without_room_for_its_image_is_given_back_for_another_host(small):
    small.host.images.ensure(
        a_context(), small.image, stopping=threading.Event(), user="a build that lasts"
    )
    other = small.store.add(a_context(), name="other", data=io.BytesIO(b"more"))
    instance = small.instance(image=other)
    carry_out(Build(small.host, a_context(), a_build(instance), instance), build_flow())
    ((uuid, host, _attempt, why),) = small.conductor.rescheduled
    assert (uuid, host) == (instance.uuid, "h1")
    assert "it has 4 bytes, and all images of this host may have 4" in why
    small.assert_clean_slate()


def test_builds_that_have_ended_use_no_image(small):
    for content in (b"tiny", b"more"):
        image = small.store.add(a_context(), name="x", data=io.BytesIO(content))
        instance = small.instance(image=image)
        carry_out(Build(small.host, a_context(), a_build(instance), instance), build_flow())
        assert instance.vm_state == states.ACTIVE
    small.trouble({"step": "spawn", "kind": "reschedulable", "message": "no luck"})
    instance = small.instance()
    carry_out(Build(small.host, a_context(), a_build(instance), instance), build_flow())
    small.trouble()
    image = small.store.add(a_context(), name="x", data=io.BytesIO(b"last"))
    instance = small.instance(image=image)
    carry_out(Build(small.host, a_context(), a_build(instance), instance), build_flow())
    assert instance.vm_state == states.ACTIVE


def test_neither_do_tasks_that_have_ended(small, boot):
    manager, instance = small.manager(), small.instance()
    boot(manager, instance)
    for content in (b"more", b"last"):
        image = small.store.add(a_context(), name="x", data=io.BytesIO(content))
        instance.task_state = states.REBUILDING
        small.conductor.images[instance.uuid] = image
        instance.attempt += 1
        run(manager, instance, kind="rebuild")
        assert small.conductor.faults[instance.uuid] is None
        assert instance.image.id == image.id
