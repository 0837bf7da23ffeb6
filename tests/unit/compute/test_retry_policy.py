"""Insisting on what must be heard."""

import threading

import pytest

from roost import exception
from roost.compute.leases import RetryPolicy


class Peer:
    """Is away for so many calls."""

    def __init__(self, away):
        self.away = away
        self.calls = 0

    def __call__(self):
        self.calls += 1
        if self.calls <= self.away:
            raise exception.Timeout("no answer")
        return "yes"


class Pauses(threading.Event):
    """Nobody stops; pauses are over at once, and a clock has gone on by so much."""

    def __init__(self):
        super().__init__()
        self.all = []

    def wait(self, timeout=None):
        self.all.append(timeout)

    def clock(self):
        return sum(self.all)


def insist(peer, *, seconds=60, pauses=None):
    pauses = pauses or Pauses()
    patience = RetryPolicy(seconds=seconds, first=1, longest=8, clock=pauses.clock)
    return patience.retry("asking", peer, stopping=pauses)


def test_patience_ends(caplog):
    peer, pauses = Peer(away=1000), Pauses()
    with pytest.raises(exception.Timeout):
        insist(peer, pauses=pauses)
    assert pauses.all == [1, 2, 4, 8, 8, 8, 8, 8, 8]  # and one more would be over the minute
    assert peer.calls == 10
    assert "asking: no answer; again in 8 s" in caplog.text


def test_an_answer_is_an_answer_whatever_it_says():
    def refuse():
        raise exception.Conflict

    with pytest.raises(exception.Conflict):
        insist(refuse)


def test_who_is_stopping_tries_once():
    peer, pauses = Peer(away=1000), Pauses()
    pauses.set()
    with pytest.raises(exception.Timeout):
        insist(peer, pauses=pauses)
    assert peer.calls == 1
