"""Which CPUs of a node are shared by guests, and which are given to one each."""

import pytest

from roost import conf, exception
from roost.compute.virt.libvirt.cpu_sets import CpuSets
from roost.objects import NUMACell

CELLS = [
    NUMACell.of(id=0, cpus=[0, 1, 2, 3], pcpus=[], memory_mb=1024),
    NUMACell.of(id=1, cpus=[4, 5, 6, 7], pcpus=[], memory_mb=1024),
]


def sets(shared=None, dedicated=None):
    options = {"cpu_shared_set": shared, "cpu_dedicated_set": dedicated}
    said = {name: text for name, text in options.items() if text is not None}
    return CpuSets.from_conf(conf.of({"compute": said}))


def divided(*said):
    return [(list(cell.cpus), list(cell.pcpus)) for cell in sets(*said).divide(CELLS)]


@pytest.mark.parametrize(
    ("shared", "dedicated", "expected"),
    [
        (None, None, [([0, 1, 2, 3], []), ([4, 5, 6, 7], [])]),
        ("", "", [([0, 1, 2, 3], []), ([4, 5, 6, 7], [])]),
        ("1-5,^3", None, [([1, 2], []), ([4, 5], [])]),
        (None, "2-3, 6", [([], [2, 3]), ([], [6])]),
        ("0,4", "1-3,5-7", [([0], [1, 2, 3]), ([4], [5, 6, 7])]),
    ],
)
def test_what_is_not_named_is_for_nobody(shared, dedicated, expected):
    assert divided(shared, dedicated) == expected


def test_as_long_as_nothing_is_said_guests_go_anywhere():
    assert not sets().are_set
    assert sets("0").are_set
    assert sets(None, "0").are_set


@pytest.mark.parametrize(
    ("shared", "dedicated", "said"),
    [
        ("0-3", "3,4", "CPU 3 is in .* cpu_shared_set and in cpu_dedicated_set"),
        ("0-x", None, "cpu_shared_set is no set of CPUs such as 0-7,\\^3: '0-x'"),
        (None, "1,^1", "cpu_dedicated_set names no CPU"),
        (None, "7-8", "cpu_dedicated_set names CPU 8, which this host does not have"),
    ],
)
def test_sets_that_cannot_be_meant_are_refused(shared, dedicated, said):
    with pytest.raises(exception.Invalid, match=said):
        divided(shared, dedicated)
