"""For how long others could have been heard."""

import pytest

from roost.servicegroup.driver import ListeningTime


@pytest.fixture
def listening():
    return ListeningTime(gap=10)


def note(listening, *times, connected=True):
    for now in times:
        listening.note(now, connected=connected)


def test_time_counts_from_the_first_note(listening):
    note(listening, 100, 105, 110)
    assert listening.seconds(112) == 12


def test_a_moment_without_hearing_ends_it(listening):
    note(listening, 100, 105)
    note(listening, 106, connected=False)
    assert listening.seconds(106) == 0
    note(listening, 107, 110)
    assert listening.seconds(110) == 3


def test_a_gap_between_two_notes_ends_it(listening):
    note(listening, 100, 105, 116)
    assert listening.seconds(117) == 1
