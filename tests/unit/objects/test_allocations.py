"""Allocations: sums and differences of amounts by provider and class."""

from hypothesis import given
from hypothesis import strategies as st

from roost.objects.allocations import of_host, plus, total

amounts = st.dictionaries(st.sampled_from("ABC"), st.integers(1, 5), max_size=3)
allocations = st.dictionaries(st.sampled_from(["", "gpu0", "gpu1"]), amounts.filter(bool))


@given(allocations, allocations)
def test_what_is_added_can_be_taken_away_again(one, other):
    both = plus(one, other)
    assert plus(both, other, sign=-1) == one
    assert total(both.values()) == total([*one.values(), *other.values()])


def test_there_are_no_amounts_of_nothing():
    assert of_host({"VCPU": 0, "DISK_GB": 2}) == {"": {"DISK_GB": 2}}
    assert of_host({"VCPU": 0}) == {}
    assert plus({}, {"": {"VCPU": 0}, "gpu0": {"VGPU": 1}}) == {"gpu0": {"VGPU": 1}}
