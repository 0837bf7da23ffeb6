"""What a guest is rescued from is no larger than its own disk, which alone was set aside for it."""

import struct

import pytest

from roost import exception
from roost.compute.virt.libvirt.base_images import BaseImages
from roost.compute.virt.libvirt.folder import GuestFolder
from roost.compute.virt.libvirt.images import Image
from roost.compute.virt.libvirt.new_disks import NewDisks
from roost.compute.virt.libvirt.rescue import Rescuer
from tests.builders import a_flavor, an_image, an_instance

GIB = 1 << 30
TIB = 1 << 40
RESCUERS = [Rescuer(), Rescuer(bus="usb"), Rescuer(is_cd=True, bus="scsi")]


@pytest.fixture
def huge(tmp_path):
    """A small file that is a disk of 1 TiB."""
    path = tmp_path / "huge.img"
    head = struct.pack(">4sIQIIQIIQQ", b"QFI\xfb", 2, 0, 0, 16, TIB, 0, 2048, 65536, 131072)
    path.write_bytes(head.ljust(1 << 20, b"\0"))
    return path


@pytest.mark.parametrize("rescuer", RESCUERS, ids=str)
def test_of_an_image_that_is_too_large_a_host_makes_nothing(tmp_path, huge, rescuer):
    folder = tmp_path / "bases"
    folder.mkdir()
    new = NewDisks(BaseImages(folder, in_use=set, lifetime=0.0), "qcow2", "ext4")
    guest = GuestFolder(tmp_path / "guest", "h1")
    with pytest.raises(exception.BuildFailed, match=f"is {TIB} bytes large"):
        new.rescue(guest, rescuer, an_instance(flavor=a_flavor(root_gb=1)), huge)
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize("own", [None, an_image(size=0)], ids=["no image", "an empty image"])
def test_a_guest_for_which_no_disk_was_set_aside_is_rescued_from_none(own):
    instance = an_instance(flavor=a_flavor(root_gb=0), image=own)
    with pytest.raises(exception.BuildFailed, match="more than the root disk of 0 bytes"):
        Rescuer().size(instance, Image("qcow2", 1))


def test_a_cd_is_as_large_as_its_image_and_a_disk_as_the_guests_own():
    instance, image = an_instance(flavor=a_flavor(root_gb=1)), Image("raw", 512)
    assert [one.size(instance, image) for one in RESCUERS] == [GIB, GIB, 512]
