"""Locks by key."""

import threading

import pytest

from roost.compute.locks import Locks


@pytest.mark.parametrize("within", [None, 0, 10])
def test_one_key_lets_one_thread_in_at_a_time(wait_until, within):
    locks, entered = Locks(), []

    def enter():
        with locks.hold("a"):
            entered.append(True)

    with locks.hold("a", within=within):
        other = threading.Thread(target=enter)
        other.start()
        wait_until(lambda: locks._interested["a"] == 2)
        assert entered == []
    other.join()
    assert entered == [True]


def test_a_lock_that_nobody_wants_is_forgotten():
    locks = Locks()
    with pytest.raises(ZeroDivisionError), locks.hold("a"):
        raise ZeroDivisionError
    assert len(locks) == 0


@pytest.mark.parametrize("within", [0, 0.05])
def test_a_key_that_somebody_holds_is_waited_for_so_long_only(within):
    locks = Locks()
    with locks.hold("a", within=within) as held:
        assert held
        with locks.hold("a", within=within) as again:
            assert not again
        assert locks.is_held("a")
    assert len(locks) == 0
