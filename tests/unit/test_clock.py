"""What is right until a moment is over when a machine wakes that was suspended meanwhile."""

import time

import pytest

from roost.context import RequestContext
from roost.db.clock import Reckoned

NIGHT = 8 * 3600


@pytest.fixture
def suspend(monkeypatch):
    """Let the machine be suspended for some seconds: only its boot clock has gone on then."""
    read = time.clock_gettime

    def suspend(seconds):
        late = {time.CLOCK_BOOTTIME: seconds}
        monkeypatch.setattr(time, "clock_gettime", lambda which: read(which) + late.get(which, 0))

    return suspend


def test_a_call_whose_caller_has_given_up_meanwhile_is_not_done(suspend):
    asked = RequestContext().until(60)
    sent = asked.to_wire()
    RequestContext.stamp(sent)
    suspend(NIGHT)
    assert asked.expired
    assert RequestContext.from_dict(sent).expired


def test_the_clock_of_a_database_is_read_again(cell_db, suspend):
    reckoned = Reckoned()
    with cell_db.read() as session:
        reckoned.read(session)
    before = reckoned.now()
    suspend(NIGHT)
    assert reckoned.is_due
    assert (reckoned.now() - before).total_seconds() >= NIGHT
