import itertools
import threading

import pytest

from roost import exception
from roost.cmd._waiting import StartupCheck, StartupWait, growing_pauses


class Clock:
    """Stands still, and remembers the pauses that it was asked for."""

    def __init__(self):
        self.pauses = []

    def pause(self, seconds):
        self.pauses.append(seconds)


class Away:
    """Cannot be reached for so many attempts."""

    def __init__(self, attempts, error=None):
        self.left = attempts
        self.error = error or exception.Unavailable("nobody answers")

    def __call__(self):
        self.left -= 1
        if self.left >= 0:
            raise self.error


@pytest.fixture
def stopping():
    return threading.Event()


def test_pauses_grow_up_to_half_a_minute():
    assert list(itertools.islice(growing_pauses(), 7)) == [1, 2, 4, 8, 16, 30, 30]


def test_what_is_away_is_asked_again_after_growing_pauses(stopping):
    clock = Clock()
    assert StartupWait("d", stopping=stopping, pause=clock.pause).until(
        [StartupCheck("x", Away(4))]
    )
    assert clock.pauses == [1, 2, 4, 8]


def test_the_log_says_what_it_waits_for_and_why(stopping, caplog):
    caplog.set_level("INFO")
    waiting = StartupWait("roost-x", stopping=stopping, pause=Clock().pause)
    waiting.until([StartupCheck("the api database", Away(1))])
    assert "roost-x waits for the api database, checks again in 1 s: nobody answers" in caplog.text
    assert "roost-x: the api database is available now" in caplog.text


def test_a_stop_ends_the_pause_at_once(stopping):
    threading.Timer(0.05, stopping.set).start()
    waiting = StartupWait("d", stopping=stopping, pauses=lambda: [3600])
    assert not waiting.until([StartupCheck("x", Away(9))])


def test_a_stop_does_not_wait_for_a_check_that_hangs(stopping):
    hangs = threading.Event()
    threading.Timer(0.05, stopping.set).start()
    try:
        assert not StartupWait("d", stopping=stopping).until(
            [StartupCheck("x", lambda: hangs.wait(60))]
        )
    finally:
        hangs.set()
