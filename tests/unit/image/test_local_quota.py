"""What a project may have in a folder of images, whoever else adds some."""

import io
import multiprocessing
import os
import time
from concurrent import futures

import pytest

from roost import exception
from roost.context import admin_context
from roost.image import local_quota
from roost.image.local import LocalImageStore
from roost.image.local_quota import ImageLimits
from tests.builders import an_image

ADMIN = admin_context()
MOST = 3
LIMITS = ImageLimits(images=MOST, size=10)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "images"


@pytest.fixture
def store(folder):
    return LocalImageStore(folder, LIMITS)


def described(store, owner="project"):
    return store.create(ADMIN, an_image(owner=owner, visibility="private"))


def sent(store, content, owner="project"):
    return store.upload(ADMIN, described(store, owner).id, io.BytesIO(content))


def data_in(folder):
    """Return the bytes of all data, whole and half."""
    return sum(path.stat().st_size for path in folder.iterdir() if ".img" in path.name)


def test_a_project_has_so_many_images(store):
    made = [described(store) for _ in range(MOST)]
    with pytest.raises(exception.QuotaExceeded, match="images: asked for 1, used 3 of 3"):
        described(store)
    described(store, owner="other")
    store.delete(ADMIN, made[0].id)
    described(store)


def test_and_so_many_bytes(store, folder):
    first = sent(store, b"123456")
    waiting = described(store)
    refused = "image_bytes: asked for 5, used 6 of 10. Delete images"
    with pytest.raises(exception.QuotaExceeded, match=refused):
        store.upload(ADMIN, waiting.id, io.BytesIO(b"12345"))
    assert store.get(ADMIN, waiting.id).status == "queued"
    assert data_in(folder) == 6
    store.upload(ADMIN, waiting.id, io.BytesIO(b"1234"))
    sent(store, b"1234567890", owner="other")
    store.delete(ADMIN, first.id)
    assert sent(store, b"123456").size == 6


@pytest.mark.parametrize("others", [LIMITS, None], ids=["limited", "unlimited"])
def test_a_project_may_have_limits_of_its_own_for_all_who_share_the_folder(folder, others):
    store, operator = (LocalImageStore(folder, others) for _ in range(2))
    operator.set_limits("project", {"images": 1, "size": 20})
    image = sent(store, b"1" * 20)
    with pytest.raises(exception.QuotaExceeded, match="images: asked for 1, used 1 of 1"):
        described(store)
    described(store, owner="other")
    operator.set_limits("project", {"images": None})
    with pytest.raises(exception.QuotaExceeded, match="image_bytes: asked for 1, used 20 of 20"):
        store.upload(ADMIN, described(store).id, io.BytesIO(b"1"))
    operator.set_limits("project", {"size": -1})
    sent(store, b"1" * 20)
    assert (operator.usage("project"), operator.usage("other")) == (
        ImageLimits(3, 40),
        ImageLimits(1, 0),
    )
    store.delete(ADMIN, image.id)
    operator.set_limits("project", {"size": None})
    assert store.limits("project") == (others or ImageLimits())


def test_images_of_nobody_have_no_limit(store):
    for _ in range(MOST + 1):
        store.add(ADMIN, name="x", data=io.BytesIO(b"1234567890"))
        sent(store, b"1234567890", owner=None)


def test_what_operators_add_is_not_refused_and_counts(store):
    for _ in range(MOST + 1):
        store.add(ADMIN, name="x", data=io.BytesIO(b"123"), owner="project")
    with pytest.raises(exception.QuotaExceeded, match="used 4 of 3"):
        described(store)


def test_images_that_are_given_to_another_project_count_there(store):
    mine = sent(store, b"123456")
    theirs = sent(store, b"12345", owner="other")

    def given(image):
        return an_image(**image.values() | {"owner": "other"})

    with pytest.raises(exception.QuotaExceeded, match="asked for 6, used 5 of 10"):
        store.change(ADMIN, mine.id, given)
    assert store.get(ADMIN, mine.id).owner == "project"
    store.delete(ADMIN, theirs.id)
    store.change(ADMIN, mine.id, given)
    sent(store, b"1234567890")


def test_what_is_there_above_a_lower_limit_stays_and_is_deleted(store, folder):
    made = [sent(store, b"123") for _ in range(MOST)]
    lower = LocalImageStore(folder, ImageLimits(images=1, size=1))
    with lower.open(ADMIN, made[0].id) as data:
        assert data.read() == b"123"
    for image in made:
        with pytest.raises(exception.QuotaExceeded):
            described(lower)
        lower.delete(ADMIN, image.id)
    assert sent(lower, b"1").size == 1


@pytest.mark.parametrize("limits", [None, ImageLimits()])
def test_without_limits_there_are_none(folder, limits):
    store = LocalImageStore(folder, limits)
    for _ in range(2 * MOST):
        sent(store, b"1234567890")
    store.check_room("project")


def test_who_is_about_to_add_an_image_can_ask_before(store):
    store.check_room("project")
    sent(store, b"1234567890")
    with pytest.raises(exception.QuotaExceeded, match="image_bytes: asked for 1, used 10 of 10"):
        store.check_room("project")
    store.check_room("other")


class Slow(io.BytesIO):
    """Data that stops after its first bytes until it may go on."""

    def __init__(self, content, first, *, before):
        super().__init__(content)
        self._first, self._before = first, before

    def read(self, size=-1):
        if self.tell() == self._first:
            self._before()
        return super().read(self._first if not self.tell() else size)


def test_data_that_comes_counts_before_it_is_whole(store, folder):
    seen = []

    def meanwhile():
        with pytest.raises(exception.QuotaExceeded, match="asked for 5, used 6 of 10"):
            sent(store, b"12345")
        seen.append(data_in(folder))

    store.upload(ADMIN, described(store).id, Slow(b"123456", 6, before=meanwhile))
    assert seen[0] == 6
    assert data_in(folder) == 6


def test_data_of_an_image_that_is_deleted_meanwhile_does_not_go_on(store, folder):
    image = described(store)
    data = Slow(b"123456", 3, before=lambda: store.delete(ADMIN, image.id))
    with pytest.raises(exception.NotFound):
        store.upload(ADMIN, image.id, data)
    assert data_in(folder) == 0


def test_data_that_comes_for_an_image_that_is_deleted_meanwhile_counts(store):
    first = described(store)
    refused = []

    def meanwhile():
        store.delete(ADMIN, first.id)
        with pytest.raises(exception.QuotaExceeded, match="asked for 5, used 6 of 10"):
            sent(store, b"12345")
        refused.append(sent(store, b"12345", owner="other").size)

    with pytest.raises(exception.NotFound):
        store.upload(ADMIN, first.id, Slow(b"123456", 6, before=meanwhile))
    assert refused == [5]
    assert sent(store, b"1234567890").size == 10


def test_far_from_the_limit_room_is_set_aside_before_data_comes(folder, monkeypatch):
    monkeypatch.setattr(local_quota, "_AHEAD", 5)
    store, aside = LocalImageStore(folder, ImageLimits(size=100)), []
    image = described(store)
    data = Slow(b"1234567", 3, before=lambda: aside.append(data_in(folder)))
    whole = store.upload(ADMIN, image.id, data)
    assert aside[0] == 8
    assert (whole.size, data_in(folder)) == (7, 7)
    with store.open(ADMIN, image.id) as kept:
        assert kept.read() == b"1234567"


def test_what_a_daemon_left_that_died_does_not_count_and_goes(store, folder):
    image = described(store)
    part = folder / f".{image.id}.img.left.part"
    part.write_bytes(b"1234567890")
    sent(store, b"1")
    assert part.exists()  # its writer may be about to lock it
    os.utime(part, (time.time() - 2 * 3600,) * 2)
    assert sent(store, b"123456789").size == 9
    assert not part.exists()


@pytest.mark.parametrize("text", ["", "null", "{}"])
def test_a_damaged_description_is_nobodys(store, folder, text):
    image = described(store)
    (folder / f"{image.id}.json").write_text(text)
    for _ in range(MOST):
        described(store)
    with pytest.raises(exception.QuotaExceeded):
        described(store)


def test_of_many_images_at_once_as_many_are_made_as_may(store):
    def make(_):
        try:
            return described(store)
        except exception.QuotaExceeded:
            return None

    with futures.ThreadPoolExecutor(8) as pool:
        made = [one for one in pool.map(make, range(3 * MOST)) if one]
    assert len(made) == MOST


def _send(folder, image_ids):
    """Send 30 kB to each image, a kB at a time; return how many were taken."""
    store, taken = LocalImageStore(folder, ImageLimits(size=100_000)), 0
    for image_id in image_ids:
        try:
            store.upload(ADMIN, image_id, Trickle(b"x" * 30_000))
        except exception.QuotaExceeded:
            continue
        taken += 1
    return taken


class Trickle(io.BytesIO):
    """Data that comes in small pieces."""

    def read(self, size=-1):
        return super().read(1_000)


def test_many_processes_at_once_never_send_more_than_may_be(folder):
    store = LocalImageStore(folder)
    waiting = [[described(store).id for _ in range(4)] for _ in range(3)]
    most = 0
    spawned = multiprocessing.get_context("forkserver")
    with futures.ProcessPoolExecutor(3, mp_context=spawned) as pool:
        sending = [pool.submit(_send, folder, ids) for ids in waiting]
        while not all(one.done() for one in sending):
            most = max(most, _seen(folder))
        taken = sum(one.result() for one in sending)
    assert 1 <= taken <= 3
    assert data_in(folder) == taken * 30_000
    assert most <= 100_000


def _seen(folder):
    """Return the bytes of all data while it moves; none when it moved over the look at it."""
    before = {path for path in folder.iterdir() if ".img" in path.name}
    try:
        total = sum(path.stat().st_size for path in before)
    except FileNotFoundError:
        return 0
    return total if before == {path for path in folder.iterdir() if ".img" in path.name} else 0
