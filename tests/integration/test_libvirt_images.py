"""Which images may be run, and what becomes of them: by the real qemu-img."""

import json
import os
import subprocess
import time

import pytest

from roost import exception
from roost.compute.virt.libvirt import images, new_disks
from roost.compute.virt.libvirt.base_images import BaseImages, base_of
from roost.compute.virt.libvirt.images import Image

MIB = 1 << 20


def qemu_img(*arguments):
    done = subprocess.run(
        ["qemu-img", *map(str, arguments)], check=True, capture_output=True, text=True
    )
    return done.stdout


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "plain.img"
    path.write_bytes(b"tiny".ljust(MIB, b"\0"))
    return path


@pytest.fixture
def standing():
    """The names of bases that disks stand on."""
    return set()


@pytest.fixture
def bases(tmp_path, standing):
    folder = tmp_path / "bases"
    folder.mkdir()
    return BaseImages(folder, in_use=lambda: standing, lifetime=60.0)


@pytest.fixture
def made(plain, tmp_path):
    """Return the plain image in another format."""

    def made(kind, *options):
        path = tmp_path / f"image.{kind}"
        qemu_img("convert", "-f", "raw", "-O", kind, *options, plain, path)
        return path

    return made


@pytest.mark.parametrize(("said", "kind"), [("qcow2", "qcow2"), ("vdi", "vdi"), ("vhdx", "vhdx")])
def test_an_image_is_what_it_was_found_to_be(made, said, kind):
    found = images.inspect(made(kind), declared=said)
    assert (found.kind, found.size) == (kind, MIB)


def test_what_has_no_structure_is_plain_bytes(plain):
    assert images.inspect(plain, declared="raw") == Image("raw", MIB)
    assert images.inspect(plain) == Image("raw", MIB)
    assert [images.declared_kind(name) for name in ("iso", "ami", "qcow2")] == [
        "raw",
        "raw",
        "qcow2",
    ]


def test_an_image_that_is_not_what_it_is_said_to_be_is_refused_for_good(made, plain):
    for path, said in ((made("qcow2"), "raw"), (plain, "qcow2")):
        with pytest.raises(exception.BuildFailed, match=f"its disk_format is {said}") as refused:
            images.inspect(path, declared=said)
        assert not refused.value.reschedulable


def test_an_image_that_names_a_file_of_the_host_is_refused_for_good(tmp_path, plain):
    path = tmp_path / "smuggler.qcow2"
    qemu_img("create", "-f", "qcow2", "-b", plain, "-F", "raw", path)
    with pytest.raises(exception.BuildFailed, match="backing_file") as refused:
        images.inspect(path, declared="qcow2")
    assert not refused.value.reschedulable


def test_an_image_with_its_data_in_another_file_is_refused_for_good(tmp_path):
    path, data = tmp_path / "smuggler.qcow2", tmp_path / "data"
    qemu_img("create", "-f", "qcow2", "-o", f"data_file={data}", path, MIB)
    with pytest.raises(exception.BuildFailed, match="data_file") as refused:
        images.inspect(path)
    assert not refused.value.reschedulable


def test_a_base_is_the_image_as_plain_bytes_made_once(bases, made, plain):
    path = made("qcow2")
    with bases.held(path, images.inspect(path)) as base:
        assert base.read_bytes() == plain.read_bytes()
    path.unlink()
    with bases.held(path, Image("qcow2", MIB)) as again:
        assert again == base


def test_a_base_takes_what_is_written_and_no_more(tmp_path, made):
    large = tmp_path / "large.qcow2"
    qemu_img("create", "-f", "qcow2", large, 1 << 40)
    assert images.measure(large, images.inspect(large)) < 1 << 30
    path = made("qcow2", "-c")
    images.convert(path, flat := tmp_path / "flat", from_="qcow2", to="raw")
    assert flat.stat().st_blocks * 512 <= images.measure(path, Image("qcow2", MIB)) <= MIB


def test_a_base_that_cannot_be_made_leaves_nothing(bases, plain):
    with (
        pytest.raises(exception.BuildFailed, match="could not be created"),
        bases.held(plain, Image("qcow2", MIB)),
    ):
        pass
    assert [*(plain.parent / "bases").iterdir()] == []


def test_a_root_disk_stands_on_its_base_and_has_its_own_size(bases, plain, tmp_path):
    with bases.held(plain, Image("raw", MIB)) as base:
        images.create(tmp_path / "root", size=3 * MIB, base=base)
    assert base_of(tmp_path / "root") == base.name
    told = json.loads(qemu_img("info", "--output=json", tmp_path / "root"))
    assert told["virtual-size"] == 3 * MIB
    assert told["backing-filename"] == str(base)
    images.convert(tmp_path / "root", tmp_path / "flat", from_="qcow2", to="raw")
    assert (tmp_path / "flat").read_bytes() == plain.read_bytes().ljust(3 * MIB, b"\0")


@pytest.fixture
def base(bases, plain):
    """A base that nobody has needed for long."""
    with bases.held(plain, Image("raw", MIB)) as base:
        pass
    make_old(base)
    return base


def make_old(path, *, seconds=1e9):
    needed = time.time() - seconds
    os.utime(path, (needed, needed))


def test_a_base_that_nobody_has_needed_for_long_is_removed(bases, base):
    left = base.with_suffix(".part")
    left.touch()
    make_old(left)
    bases.tidy()
    assert [*base.parent.iterdir()] == []


def test_a_base_that_a_disk_stands_on_stays_and_for_a_while_after_it(bases, base, standing):
    standing.add(base.name)
    bases.tidy()
    standing.clear()
    bases.tidy()
    assert base.exists()
    make_old(base)
    bases.tidy()
    assert not base.exists()


def test_a_base_is_not_removed_before_a_disk_stands_on_it(bases, base, plain):
    with bases.held(plain, Image("raw", MIB)):
        make_old(base)
        bases.tidy()
        assert base.exists()


@pytest.fixture
def full(tmp_path, bases, standing):
    """Bases that have two of 1 MiB and no more, and three images for them."""
    images = [tmp_path / f"{name}.img" for name in ("first", "second", "third")]
    for path in images:
        path.write_bytes(os.urandom(MIB))
    full = BaseImages(tmp_path / "bases", in_use=lambda: standing, lifetime=0.0, most=2 * MIB)
    for path in images[:2]:
        hold(full, path)
    return full, images


def hold(bases, path):
    with bases.held(path, Image("raw", MIB)) as base:
        return base


def there(tmp_path):
    return sorted(path.stem for path in (tmp_path / "bases").iterdir())


def test_where_no_room_can_be_made_another_host_may_and_nothing_is_removed(
    full, tmp_path, standing
):
    bases, _ = full
    make_old(tmp_path / "bases/first.raw", seconds=300)
    large = tmp_path / "large.img"
    large.write_bytes(os.urandom(2 * MIB))
    standing.add("second.raw")
    with (
        pytest.raises(exception.BuildFailed, match="no room") as refused,
        bases.held(large, Image("raw", 2 * MIB)),
    ):
        pass
    assert refused.value.reschedulable
    assert there(tmp_path) == ["first", "second"]


@pytest.mark.parametrize(
    ("guest_format", "where", "what"),
    [
        ("swap", 4096 - 10, b"SWAPSPACE2"),
        ("ext4", 1024 + 56, b"\x53\xef"),
        ("ext2", 1024 + 56, b"\x53\xef"),
    ],
)
def test_a_blank_disk_has_on_it_what_guests_expect(tmp_path, guest_format, where, what):
    disk = tmp_path / "blank0.qcow2"
    new_disks.create(disk, size=8 * MIB, guest_format=guest_format, label="ephemeral0")
    images.convert(disk, tmp_path / "flat", from_="qcow2", to="raw")
    found = (tmp_path / "flat").read_bytes()
    assert len(found) == 8 * MIB
    assert found[where : where + len(what)] == what
    assert b"ephemeral0" in found
    assert {path.name for path in tmp_path.iterdir()} == {"blank0.qcow2", "flat"}


def test_a_blank_disk_may_be_left_to_its_guest(tmp_path):
    new_disks.create(tmp_path / "blank0.qcow2", size=MIB, guest_format="none", label="")
    images.convert(tmp_path / "blank0.qcow2", tmp_path / "flat", from_="qcow2", to="raw")
    assert (tmp_path / "flat").read_bytes() == bytes(MIB)


def test_a_format_that_nobody_knows_is_refused_for_good(tmp_path):
    with pytest.raises(exception.BuildFailed, match=r"is 'zfs', but .* ext2") as failed:
        new_disks.create(tmp_path / "blank", size=MIB, guest_format="zfs", label="")
    assert not failed.value.reschedulable
