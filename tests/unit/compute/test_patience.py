"""Insisting on what must be heard."""

import threading

import pytest

from roost import exception
from roost.compute.patience import Patience


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


def insist(peer, *, seconds=60, stopping=None):
    patience = Patience(seconds=seconds, first=0.001, longest=0.002)
    return patience.insist("asking", peer, stopping=stopping or threading.Event())


def test_a_peer_that_comes_back_is_heard():
    assert insist(Peer(away=5)) == "yes"


def test_patience_ends(caplog):
    with pytest.raises(exception.Timeout):
        insist(Peer(away=1000), seconds=0.05)
    assert "asking: no answer; again in" in caplog.text


def test_an_answer_is_an_answer_whatever_it_says():
    def refuse():
        raise exception.Conflict

    with pytest.raises(exception.Conflict):
        insist(refuse)


def test_who_is_stopping_tries_once():
    stopping, peer = threading.Event(), Peer(away=1000)
    stopping.set()
    with pytest.raises(exception.Timeout):
        insist(peer, stopping=stopping)
    assert peer.calls == 1
