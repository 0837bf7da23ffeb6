"""Images that name a kernel: guests are started by that, wherever they are built."""

import io
import pathlib
import threading

import pytest

from roost import exception, states
from roost.compute import image_cache
from tests.builders import a_context, a_uuid, an_image
from tests.unit.compute.conftest import run


@pytest.fixture
def add(rig):
    """Add an image of this content and format; return its id."""

    def add(content, kind):
        data = io.BytesIO(content)
        return rig.store.add(a_context(), name=kind, data=data, disk_format=kind).id

    return add


@pytest.fixture
def image(rig, add):
    """An image with a kernel and a ramdisk of its own."""
    rig.image.properties = {
        "kernel_id": add(b"kernel", "aki"),
        "ramdisk_id": add(b"ramdisk", "ari"),
        "os_command_line": "console=ttyS0",
    }
    return rig.image


def started_by(rig, instance, key="kernel"):
    path, ramdisk, words = rig.virt.contents(instance.uuid)[key]
    return pathlib.Path(path).read_bytes(), pathlib.Path(ramdisk).read_bytes(), words


def test_a_guest_is_started_by_the_kernel_that_its_image_names(rig, boot, image):
    boot(rig.manager(), instance := rig.instance())
    assert started_by(rig, instance) == (b"kernel", b"ramdisk", "console=ttyS0")


def test_a_guest_that_is_made_anew_is_started_by_that_of_its_new_image(rig, boot, image):
    plain = an_image(**{name: getattr(image, name) for name in ("id", "hash_value", "size")})
    manager, instance = rig.manager(), rig.instance(image=plain)
    boot(manager, instance)
    assert "kernel" not in rig.virt.contents(instance.uuid)
    instance.task_state = states.REBUILDING
    rig.conductor.images[instance.uuid] = image
    instance.attempt += 1
    run(manager, instance, kind="rebuild")
    assert started_by(rig, instance) == (b"kernel", b"ramdisk", "console=ttyS0")


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"ramdisk_id": a_uuid()}, "has a ramdisk_id, which needs a kernel_id"),
        ({"kernel_id": a_uuid()}, "cannot be fetched"),
    ],
)
def test_a_kernel_that_no_host_can_have_ends_the_build_for_good(rig, properties, why):
    image = an_image(properties=properties)
    with pytest.raises(exception.BuildFailed, match=why) as failed:
        image_cache.fetch(
            rig.host.images, a_context(), image, stopping=threading.Event(), user="a build"
        )
    assert not failed.value.reschedulable


def test_a_kernel_that_is_larger_than_hosts_copy_is_not_fetched(rig, add, monkeypatch):
    monkeypatch.setattr(image_cache, "KERNEL_BYTES", 5)
    image = an_image(properties={"kernel_id": add(b"kernel", "aki")})
    with pytest.raises(
        exception.BuildFailed, match="an image of 6 bytes; the limit is 5"
    ) as failed:
        image_cache.fetch(
            rig.host.images, a_context(), image, stopping=threading.Event(), user="a build"
        )
    assert not failed.value.reschedulable
    assert [*rig.host.images._folder.path.glob("*")] == []
