"""Tokens of consoles that have expired do not stay for ever."""

import datetime

from roost.conductor.super import sweeper
from roost.db.api import console_tokens
from roost.db.types import utcnow
from tests.unit.db.test_console_tokens import a_token


def test_tokens_that_have_expired_are_forgotten_some_in_each_sweep(world, monkeypatch):
    monkeypatch.setattr(sweeper, "_TOKENS", 2)
    old = [a_token(expires_at=utcnow() - datetime.timedelta(seconds=age)) for age in (30, 20, 10)]
    new = a_token(expires_at=utcnow() + datetime.timedelta(seconds=60))
    with world.api_db.begin() as session:
        for each in (*old, new):
            console_tokens.create(session, each)
    left = []
    for _ in range(3):
        world.sweeper.sweep()
        with world.api_db.read() as session:
            left.append(console_tokens.known(session, [each.digest for each in (*old, new)]))
    assert left == [{old[2].digest, new.digest}, {new.digest}, {new.digest}]
