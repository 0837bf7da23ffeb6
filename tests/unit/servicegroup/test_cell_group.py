"""Whoever asks a coordination service for members gets an answer soon, or none."""

import threading

import pytest

from roost import exception
from roost.servicegroup.tooz import MEMORY, CellGroup


class Hanging:
    """A coordinator whose service does not answer until it may."""

    is_started = True

    def __init__(self):
        self.asked = 0
        self.may_answer = threading.Event()

    def get_members(self, group):
        self.asked += 1
        self.may_answer.wait(5)
        return self

    def get(self):
        return {b"h1"}


@pytest.fixture
def hanging():
    made = Hanging()
    yield made
    made.may_answer.set()


def a_group(coordinator, **more):
    return CellGroup(coordinator, me=b"me", name=b"cell", address="there", **more)


def test_a_service_that_hangs_is_asked_once_and_costs_one_bounded_wait(hanging):
    group = a_group(hanging, patience=0.05)
    for _ in range(3):
        with pytest.raises(exception.Unavailable, match="there does not answer"):
            group.members()
    assert hanging.asked == 1


def test_those_who_ask_at_the_same_time_share_the_answer(hanging):
    group, answers = a_group(hanging, patience=5), []
    threads = [threading.Thread(target=lambda: answers.append(group.members())) for _ in range(4)]
    for thread in threads:
        thread.start()
    hanging.may_answer.set()
    for thread in threads:
        thread.join()
    assert answers == [{b"h1"}] * 4


def test_an_answer_counts_for_a_moment_whoever_asks(hanging):
    now = [0.0]
    group = a_group(hanging, clock=lambda: now[0])
    hanging.may_answer.set()
    for now[0], asked in ((0.0, 1), (MEMORY - 0.1, 1), (MEMORY, 2), (2 * MEMORY - 0.1, 2)):
        assert (group.members(), hanging.asked) == ({b"h1"}, asked)
