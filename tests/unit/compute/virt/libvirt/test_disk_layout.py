"""Which disks a guest gets."""

import pytest

from roost import exception
from roost.compute.virt.libvirt import new_disks
from roost.compute.virt.libvirt.images import Image
from roost.compute.virt.libvirt.layout import Blank, DiskLayout
from roost.objects import BlockDevice, GuestConfig
from roost.objects.instance import FORMATS, UNFORMATTED
from tests.builders import a_flavor, an_image, an_instance

MIB, GIB = 1 << 20, 1 << 30


def test_disks_follow_from_the_flavor():
    flavor = a_flavor(root_gb=2, ephemeral_gb=3, swap=4)
    instance = an_instance(flavor=flavor)
    blanks = (Blank(3 * GIB), Blank(4 * MIB, "swap"))
    assert DiskLayout.of(instance, Image("raw", MIB)) == DiskLayout(2 * GIB, blanks)
    assert DiskLayout.of(instance, None) == DiskLayout(2 * GIB, blanks)


def test_disks_that_were_asked_for_count_instead():
    root = BlockDevice.of(source_type="image", boot_index=0, size_mb=7, disk_bus="scsi")
    blank = BlockDevice.of(
        source_type="blank", boot_index=None, size_mb=5, guest_format="xfs", disk_bus="usb"
    )
    instance = an_instance(provisions=GuestConfig.of(block_devices=[root, blank]))
    assert DiskLayout.of(instance, Image("raw", MIB)) == DiskLayout(
        7 * MIB, (Blank(5 * MIB, "xfs", "usb"),), root_bus="scsi"
    )


def test_a_root_disk_whose_size_nobody_says_is_as_large_as_its_image():
    instance = an_instance(flavor=a_flavor(root_gb=0))
    assert DiskLayout.of(instance, Image("raw", 513)) == DiskLayout(1024)
    assert DiskLayout.of(instance, None) == DiskLayout(0)


def test_a_root_disk_whose_size_nobody_says_has_no_more_than_was_set_aside():
    instance = an_instance(flavor=a_flavor(root_gb=0), image=an_image(min_disk=2))
    assert DiskLayout.of(instance, Image("qcow2", 2 * GIB)) == DiskLayout(2 * GIB)
    with pytest.raises(exception.BuildFailed, match=f"more than the root disk of {2 * GIB} bytes"):
        DiskLayout.of(instance, Image("qcow2", 2 * GIB + 1))


def test_an_image_that_is_larger_than_its_root_disk_is_refused_for_good():
    with pytest.raises(exception.BuildFailed, match="take a larger flavor") as refused:
        DiskLayout.of(an_instance(flavor=a_flavor(root_gb=1)), Image("qcow2", GIB + 1))
    assert not refused.value.reschedulable


def test_whatever_may_be_asked_for_on_a_disk_can_be_made():
    assert {*new_disks._MAKERS, UNFORMATTED} == {*FORMATS}
