"""A listener finds out that it is deaf by messages to itself, and is opened anew."""

import threading

import pytest

from roost import exception
from roost.rpc.consumer_check import PERSEVERE, ConsumerCheck, ConsumerLost


class Way:
    """The way from us to us, which a test can break."""

    def __init__(self):
        self.now = 100.0
        self.failure = None
        self.loses = False
        self.repaired = 0
        self.consumer_state = ConsumerCheck(
            "the queue", self.send, repair=self.repair, timeout=0.0, clock=lambda: self.now
        )

    def send(self):
        self.now += 1.0
        if self.failure:
            raise self.failure
        if not self.loses:
            self.consumer_state.note()

    def repair(self):
        self.repaired += 1
        self.failure, self.loses = None, False

    def check(self, times=1):
        return [self.consumer_state.check() for _ in range(times)]


@pytest.fixture
def way():
    return Way()


def test_one_message_that_is_lost_is_no_reason_to_open_anew(way):
    way.loses = True
    assert way.check() == [False]
    assert (way.consumer_state.lost_since, way.repaired) == (100.0, 0)
    way.loses = False
    assert way.check() == [True]
    assert way.consumer_state.lost_since is None


def test_what_is_deaf_twice_in_a_row_is_opened_anew(way):
    way.loses = True
    assert way.check(3) == [False, False, True]
    assert way.repaired == 1


def test_who_doubts_opens_anew_after_one_message_that_is_lost(way):
    way.loses = True
    way.consumer_state.doubt()
    assert way.check(2) == [False, True]
    assert way.repaired == 1
    way.loses = True
    assert way.check() == [False]
    assert way.repaired == 1


def test_a_doubt_ends_the_pause_between_two_messages():
    sent = threading.Semaphore(0)
    consumer_state = ConsumerCheck(
        "the queue", lambda: (consumer_state.note(), sent.release()), interval=3600.0
    )
    consumer_state.start()
    try:
        assert sent.acquire(timeout=30)
        consumer_state.doubt()
        assert sent.acquire(timeout=30)
    finally:
        consumer_state.stop()


def test_a_queue_that_is_gone_is_deafness(way):
    way.failure = ConsumerLost("its queue is gone")
    assert way.check(3) == [False, False, True]


def test_nothing_is_opened_anew_while_the_broker_is_away(way):
    way.failure = exception.Unavailable("the bus is away")
    assert way.check(5) == [False] * 5
    assert (way.consumer_state.lost_since, way.repaired) == (None, 0)


def test_an_operator_is_told_once_when_it_stays_deaf(way, caplog):
    way.loses, way.repair = True, None
    consumer_state = way.consumer_state = ConsumerCheck(
        "the queue", way.send, timeout=0.0, clock=lambda: way.now
    )
    for _ in range(int(PERSEVERE) + 10):
        assert not consumer_state.check()
    assert caplog.text.count("gets no messages: restart this daemon") == 1
