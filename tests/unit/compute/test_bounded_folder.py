"""What hosts keep for themselves has so many bytes at most: the images, and what disks stand on."""

import os
import shutil
import threading
import time
import types
from concurrent import futures

import pytest

from roost import conf, exception
from roost.compute.bounded_folder import BoundedFolder
from roost.compute.image_cache import ImageCache
from roost.compute.virt.libvirt import base_images
from roost.compute.virt.libvirt.images import Image
from roost.compute.virt.libvirt.settings import LibvirtSettings
from tests.builders import a_context, an_image

MOST = 10  # bytes


@pytest.fixture
def make(tmp_path):
    def make(most=MOST, **how):
        return BoundedFolder(tmp_path / "files", most=most, parts=4, suffix=".img", **how)

    return make


@pytest.fixture
def folder(make):
    return make()


def put(folder, name, size, *, age=0):
    """Have a file of so many bytes, which was last wanted so many seconds ago."""
    path = folder.file(name)
    with folder.room(path, size) as partial:
        partial.write_bytes(b"x" * size)
    make_old(path, age)
    return path


def make_old(path, age):
    wanted = time.time() - age
    os.utime(path, (wanted, wanted))


def there(folder):
    return sorted(path.name for path in folder.path.iterdir())


def refused(why="may have 10"):
    return pytest.raises(exception.NoCapacity, match=why)


def test_what_was_not_wanted_for_longest_makes_room_and_no_more_than_need_be(folder):
    for name, age in (("a", 20), ("b", 30), ("c", 10)):
        put(folder, name, 3, age=age)
    put(folder, "d", 4)
    assert there(folder) == ["a.img", "c.img", "d.img"]
    put(folder, "e", 3)
    assert there(folder) == ["c.img", "d.img", "e.img"]


def test_nothing_goes_while_there_is_room(folder):
    put(folder, "a", 5)
    put(folder, "b", 5)
    assert there(folder) == ["a.img", "b.img"]


def test_what_is_used_stays_until_the_last_user_lets_go(folder):
    path = put(folder, "a", 8, age=1e9)
    for user in ("one", "two"):
        folder.use(path, user)
    folder.release("one")
    with refused():
        put(folder, "b", 3)
    folder.tidy(1.0)
    assert there(folder) == ["a.img"]
    folder.release("two")
    put(folder, "b", 3)
    assert there(folder) == ["b.img"]


def test_what_others_use_stays_too_and_is_wanted_meanwhile(make):
    used = {"a.img"}
    folder = make(in_use=lambda: used)
    path = put(folder, "a", 4, age=1e9)
    put(folder, "b", 4, age=100)
    put(folder, "c", 4)
    assert there(folder) == ["a.img", "c.img"]
    folder.tidy(60.0)
    used.clear()
    folder.tidy(60.0)
    assert path.exists()
    make_old(path, 61)
    folder.tidy(60.0)
    assert not path.exists()


def test_where_it_cannot_be_seen_what_is_used_nothing_goes(make):
    def in_use():
        raise OSError

    folder = make(in_use=in_use)
    put(folder, "a", 8, age=1e9)
    with pytest.raises(OSError):
        folder.tidy(1.0)
    with pytest.raises(OSError):
        put(folder, "b", 8)
    assert there(folder) == ["a.img"]


def test_what_another_process_may_just_have_wanted_makes_no_room(make):
    folder = make(young=60.0)
    path = put(folder, "a", 8, age=30)
    with refused():
        put(folder, "b", 8)
    make_old(path, 61)
    put(folder, "b", 8)
    assert there(folder) == ["b.img"]


def test_nothing_is_removed_in_vain(folder):
    put(folder, "a", 2)
    folder.use(put(folder, "b", 6), "a user")
    with refused("it has 5 bytes, and all files of this host may have 10, of which 6 are in use"):
        put(folder, "c", 5)
    with refused():
        put(folder, "c", 11)
    assert there(folder) == ["a.img", "b.img"]


def test_what_is_being_written_counts_once(folder):
    with folder.room(folder.file("a"), 6) as partial:
        partial.write_bytes(b"half")
        with refused("of which 6 are in use or being written"):
            put(folder, "b", 5)
        put(folder, "b", 4)
        folder.tidy(60.0)
    assert there(folder) == ["a.img", "b.img"]


def test_what_could_not_be_written_leaves_its_room_to_others(folder):
    with pytest.raises(FileNotFoundError), folder.room(folder.file("a"), 10):
        pass
    assert there(folder) == []
    put(folder, "b", 10)


def test_of_many_that_are_written_at_once_as_many_are_as_there_is_room_for(folder):
    together = threading.Barrier(6)

    def write(number):
        together.wait(10)
        path = folder.file(str(number))
        folder.use(path, number)
        try:
            put(folder, str(number), 4)
        except exception.NoCapacity:
            return False
        return True

    with futures.ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(write, range(6))) == 2
    assert len(there(folder)) == 2


def test_what_nobody_has_wanted_for_long_goes_and_what_others_left_half_written(folder):
    put(folder, "a", 1, age=50)
    put(folder, "b", 1, age=70)
    left = folder.path / "c.other.part"
    left.touch()
    make_old(left, 70)
    folder.tidy(0.0)
    assert len(there(folder)) == 3
    folder.tidy(60.0)
    assert there(folder) == ["a.img"]


def test_what_a_daemon_left_half_written_that_was_killed_goes(make):
    folder = make(part=".h[1].part")
    put(folder, "a", 1)
    for name in ("b.h[1].part", "b.h1.part"):
        (folder.path / name).touch()
    folder.clear()
    assert there(folder) == ["a.img", "b.h1.part"]


def test_what_is_too_much_since_the_bound_is_lower_goes(make):
    for name, age in (("a", 30), ("b", 20), ("c", 10)):
        put(make(), name, 3, age=age)
    make(most=5).tidy(0.0)
    assert there(make()) == ["c.img"]


def test_without_a_bound_any_number_is_kept(make):
    folder = make(most=0)
    for number in range(5):
        put(folder, str(number), 10)
    folder.tidy(0.0)
    assert len(there(folder)) == 5


def test_holes_take_no_room(folder):
    with folder.room(folder.file("a"), 10) as partial, partial.open("wb") as file:
        file.truncate(1 << 20)
    put(folder, "b", 10)
    assert there(folder) == ["a.img", "b.img"]


def test_a_folder_that_is_not_there_has_nothing_to_remove(folder):
    folder.tidy(1.0)
    folder.clear()


@pytest.fixture
def small(monkeypatch):
    """Every file system is small."""
    usage = types.SimpleNamespace(total=40, free=30)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    return usage


def test_what_is_used_may_have_all_that_is_free_and_what_is_not_its_part(small, make):
    folder = make(most=None)
    put(folder, "kept", 10, age=20)
    folder.use(path := put(folder, "used", 29), "a build")
    assert there(folder) == ["used.img"]
    with refused("it has 31 bytes, and 30 are free for all files of this host"):
        put(folder, "larger", 31)
    folder.tidy(0.0)
    assert path.exists()
    folder.release("a build")
    folder.tidy(0.0)
    assert there(folder) == []


def test_whatever_there_may_be_no_more_is_written_than_is_free(small, make):
    folder = make(most=0)
    with folder.room(folder.file("a"), 20) as partial:
        partial.write_bytes(b"x" * 5)
        small.free -= 5
        with refused("10 are free for all files of this host"):
            put(folder, "b", 11)
        put(folder, "b", 10)


def test_users_read_that_there_is_no_room_for_an_image(small, tmp_path):
    cache = ImageCache(None, folder=tmp_path / "not" / "there")
    how = {"stopping": threading.Event(), "user": "a build"}
    image = an_image(size=31)
    with pytest.raises(exception.BuildFailed, match="30 are free") as refused:
        cache.ensure(a_context(), image, **how)
    assert exception.reason(refused.value) == (
        f"The host had no room for the image {image.id}, of 31 bytes."
    )


def test_of_a_base_counts_what_is_written(small, tmp_path, monkeypatch):
    monkeypatch.setattr(base_images, "convert", lambda _, target, **__: target.touch())
    monkeypatch.setattr(base_images, "measure", lambda path, _image: int(path.name))
    kept = base_images.BaseImages(tmp_path, in_use=set, lifetime=0.0)
    with kept.held(tmp_path / "30", Image("qcow2", 1 << 40)):
        pass
    with (
        pytest.raises(exception.BuildFailed, match="30 are free"),
        kept.held(tmp_path / "31", Image("qcow2", 1 << 40)),
    ):
        pass


def test_nothing_is_set_unless_an_operator_does():
    default = conf.of({})
    assert default.compute.image_cache_max_bytes is None
    assert LibvirtSettings.from_conf(default).base_bytes is None
