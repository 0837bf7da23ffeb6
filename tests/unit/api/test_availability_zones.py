"""One answer for all who ask at about the same time."""

import threading
from concurrent import futures

import pytest

from roost import exception
from roost.api.compute.availability_zones import Recent


class Asked:
    """Counts how often it is asked, and takes as long as it is told."""

    def __init__(self):
        self.times = 0
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.failure = None

    def __call__(self):
        self.times += 1
        assert self.may_answer.wait(30)
        if self.failure:
            raise self.failure
        return self.times


@pytest.fixture
def clock():
    return [0.0]


@pytest.fixture
def recent(clock):
    return Recent(seconds=3, clock=lambda: clock[0])


def test_an_answer_does_for_some_seconds(recent, clock):
    ask = Asked()
    answers = []
    for clock[0] in (0, 2.9, 3, 5.9, 6):
        answers.append(recent.get(ask))
    assert answers == [1, 1, 2, 2, 3]


def test_who_comes_while_somebody_asks_gets_the_same_answer(recent):
    ask = Asked()
    ask.may_answer.clear()
    with futures.ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(recent.get, ask) for _ in range(8)]
        ask.may_answer.set()
        assert {each.result(30) for each in asked} == {1}
    assert ask.times == 1


def test_a_failure_is_shared_and_tried_again_later(recent, clock):
    ask = Asked()
    ask.failure = exception.Timeout("no answer", seconds=5)
    for _ in range(3):
        with pytest.raises(exception.Timeout, match="no answer") as caught:
            recent.get(ask)
        assert caught.value.details == {"seconds": 5}
    assert ask.times == 1
    clock[0], ask.failure = 3, None
    assert recent.get(ask) == 2
