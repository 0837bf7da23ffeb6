"""The disks of a guest that gets another flavor."""

import pytest

from roost.objects import BlockDevice
from roost.objects.instance import SWAP, devices_for
from tests.builders import a_flavor

GIB = 1024
OLD = a_flavor(root_gb=5, ephemeral_gb=10, swap=64)
NEW = a_flavor(root_gb=20, ephemeral_gb=40, swap=128)
BARE = a_flavor(root_gb=5, ephemeral_gb=0, swap=0)


def disk(kind, size_mb):
    source = "image" if kind == "image" else "blank"
    return BlockDevice.of(
        source_type=source,
        boot_index=0 if kind == "image" else None,
        size_mb=size_mb,
        guest_format=SWAP if kind == SWAP else None,
    )


def sizes(devices):
    return [(one.guest_format or one.source_type, one.size_mb) for one in devices]


@pytest.mark.parametrize(
    ("before", "old", "new", "after"),
    [
        ([("image", 5 * GIB)], BARE, NEW, [20 * GIB, 40 * GIB, 128]),
        (
            [("image", 5 * GIB), ("blank", 10 * GIB), (SWAP, 64)],
            OLD,
            NEW,
            [20 * GIB, 40 * GIB, 128],
        ),
        ([("image", 5 * GIB), ("blank", 3 * GIB), (SWAP, 32)], OLD, NEW, [20 * GIB, 3 * GIB, 32]),
        ([("image", 5 * GIB), (SWAP, 64)], a_flavor(root_gb=5, swap=64), BARE, [5 * GIB]),
        ([("image", 5 * GIB), (SWAP, 32)], OLD, a_flavor(root_gb=5, swap=16), [5 * GIB, 16]),
        ([("image", 0)], a_flavor(root_gb=0), a_flavor(root_gb=0), [0]),
        ([], OLD, NEW, []),
    ],
    ids=["added", "all grow", "sized by the user", "no swap", "less swap", "as its image", "none"],
)
def test_disks_of_the_flavor_follow_it_and_others_stay(before, old, new, after):
    devices = [disk(*one) for one in before]
    assert [one.size_mb for one in devices_for(devices, old, new)] == after
    assert [one.size_mb for one in devices] == [size for _kind, size in before]
