"""What clients were told."""

import contextlib

import pytest

from roost import exception
from roost.rig.chaos.answers import Answers


@pytest.fixture
def answers():
    return Answers()


def fail(answers, error):
    with contextlib.suppress(exception.RoostError), answers.noted("POST servers"):
        raise error


def refused(status, **details):
    return exception.Conflict("oh", status=status, **details)


def test_what_is_not_there_is_an_answer(answers):
    fail(answers, exception.NotFound("no"))
    assert (answers.counts["POST servers", "404"], answers.failures) == (1, [])


@pytest.mark.parametrize(
    ("error", "outcome", "clean"),
    [
        (refused(409), "409", True),
        (refused(429, retry_after="1"), "429", True),
        (refused(429, retry_after=None), "429", False),
        (refused(503, retry_after="5"), "503", True),
        (refused(503, retry_after=None), "503", False),
        (refused(500, retry_after="5"), "500", False),
        (refused(504), "504", False),
        (exception.Unavailable("refused"), "no answer", True),
        (exception.Unavailable("late", late=True), "late", True),
    ],
)
def test_a_failure_is_clean_if_it_tells_its_client_what_to_do(answers, error, outcome, clean):
    fail(answers, error)
    (failure,) = answers.failures
    assert (failure.outcome, failure.clean) == (outcome, clean)
