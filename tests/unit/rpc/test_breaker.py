"""Only the first to send wait for a bus that is away."""

import threading

import pytest

from roost import exception
from roost.rpc.transport import BusBreaker


class Broker:
    def __init__(self):
        self.back = threading.Event()
        self.asked = threading.Event()

    def connect(self):
        self.asked.set()
        if not self.back.is_set():
            raise ConnectionRefusedError


@pytest.fixture
def broker():
    return Broker()


@pytest.fixture
def breaker(broker):
    breaker = BusBreaker("bus", broker.connect, pause=0.001)
    yield breaker
    breaker.close()


def test_a_bus_that_nothing_is_known_against_may_be_used(breaker, broker):
    breaker.check()
    assert not broker.asked.is_set()


def test_a_bus_that_is_known_to_be_away_fails_at_once(breaker):
    breaker.trip()
    with pytest.raises(exception.Unavailable, match="the bus 'bus' is away"):
        breaker.check()


def test_it_may_be_used_again_when_it_is_back(breaker, broker):
    breaker.trip()
    assert broker.asked.wait(60)
    assert breaker.is_unavailable
    broker.back.set()
    _until(lambda: not breaker.is_unavailable)
    breaker.check()


def test_it_can_go_away_again(breaker, broker):
    broker.back.set()
    breaker.trip()
    _until(lambda: not breaker.is_unavailable)
    broker.back.clear()
    breaker.trip()
    assert breaker.is_unavailable


def _until(condition):
    patience = threading.Event()
    for _ in range(60_000):
        if condition():
            return
        patience.wait(0.001)
    raise AssertionError("not within a minute")
