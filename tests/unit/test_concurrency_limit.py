"""Places, of which no holder has all."""

import pytest

from roost.concurrency_limit import ConcurrencyLimit, Refused


@pytest.fixture
def limit():
    """Return one whose holders may have half of what others leave, but always one."""
    return ConcurrencyLimit(4, lambda left, _holder: max(1, left // 2))


def test_each_holder_has_its_share_of_what_others_leave(limit):
    taken = [limit.take(holder) for holder in ("a", "a", "a", "b", "b")]
    assert taken == [None, None, Refused.SHARE, None, Refused.SHARE]
    assert limit.taken == 3


def test_all_have_as_many_as_there_are(limit):
    assert [limit.take(holder) for holder in "abcd"] == [None] * 4
    assert limit.take("e") is Refused.FULL


def test_what_is_given_back_may_be_taken_again(limit):
    for holder in "abcd":
        limit.take(holder)
    limit.give_back("a")
    assert limit.take("e") is None
    assert limit.taken == 4


def test_a_share_may_depend_on_the_holder():
    limit = ConcurrencyLimit(9, lambda _left, holder: {"trusted": 2, "other": 1}[holder])
    assert [limit.take(holder) for holder in ("trusted", "other")] == [None, None]
    assert [limit.take(holder) for holder in ("trusted", "other")] == [None, Refused.SHARE]
