"""Concurrent deletes release their claims together."""

import concurrent.futures
import threading

import pytest

from roost import exception
from roost.conductor.cell.operations.claims import ClaimReleases
from tests.builders import a_context


class SlowScheduler:
    """Releases claims, the first time not before it is told to; it refuses ``bad``."""

    def __init__(self):
        self.asked = []
        self.begun, self.gate = threading.Event(), threading.Event()
        self.error = exception.Forbidden("it is in another cell")

    def release_claims(self, context, *, instance_uuids):
        self.asked.append(instance_uuids)
        if len(self.asked) == 1:
            self.begun.set()
            self.gate.wait(10)
        if "bad" in instance_uuids:
            raise self.error


@pytest.fixture
def scheduler():
    return SlowScheduler()


def released(scheduler, *uuids):
    """Release the claims of several instances while that of another is being released."""
    releases = ClaimReleases(scheduler)
    with concurrent.futures.ThreadPoolExecutor() as pool:
        first = pool.submit(releases.release, a_context(), "first")
        scheduler.begun.wait(10)
        others = [pool.submit(releases.release, a_context(), uuid) for uuid in uuids]
        while len(releases._group._queue) < len(uuids):
            threading.Event().wait(0.001)
        scheduler.gate.set()
        first.result(10)
        return dict(zip(uuids, [each.exception(10) for each in others], strict=True))


def test_what_waits_is_released_with_one_message(scheduler):
    assert released(scheduler, "a", "b", "c") == {"a": None, "b": None, "c": None}
    first, together = scheduler.asked
    assert (first, sorted(together)) == (["first"], ["a", "b", "c"])


def test_one_that_is_refused_leaves_the_others_alone(scheduler):
    errors = released(scheduler, "a", "bad", "c")
    assert errors == {"a": None, "bad": scheduler.error, "c": None}


def test_without_a_scheduler_all_hear_so(scheduler):
    scheduler.error = exception.Unavailable("it is away")
    errors = released(scheduler, "a", "bad")
    assert set(errors.values()) == {scheduler.error}
    assert len(scheduler.asked) == 2
