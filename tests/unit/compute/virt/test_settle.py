"""What has become of a guest that was to be moved, whoever died on the way."""

import itertools

import pytest

from roost.compute.virt.live_migration import Outcome, Presence, settle

A = Presence
PLACES = [*Presence, None]


@pytest.mark.parametrize(
    ("source", "destination", "outcome"),
    [
        (A.HERE, A.ABSENT, Outcome.STAYED),
        (A.HERE, A.ROOM, Outcome.STAYED),
        (A.HERE, None, Outcome.STAYED),
        (A.STOPPED, A.ROOM, Outcome.STAYED),
        (A.UNDECIDED, A.ROOM, Outcome.STAYED),
        (A.UNDECIDED, A.ABSENT, Outcome.STAYED),
        (A.LEAVING, A.ARRIVING, Outcome.WAIT),
        (A.LEAVING, A.ROOM, Outcome.WAIT),
        (A.LEAVING, None, Outcome.WAIT),
        (A.HERE, A.ARRIVING, Outcome.WAIT),
        (A.UNDECIDED, A.ARRIVING, Outcome.WAIT),
        (A.UNDECIDED, None, Outcome.WAIT),
        (A.STOPPED, None, Outcome.WAIT),
        (A.ROOM, None, Outcome.WAIT),
        (None, A.ROOM, Outcome.WAIT),
        (None, None, Outcome.WAIT),
        (A.ROOM, A.HERE, Outcome.ARRIVED),
        (A.ROOM, A.STOPPED, Outcome.ARRIVED),
        (A.UNDECIDED, A.HERE, Outcome.ARRIVED),
        (None, A.HERE, Outcome.ARRIVED),
        (A.TORN, A.TORN, Outcome.TORN),
        (A.TORN, None, Outcome.TORN),
        (A.ROOM, A.ROOM, Outcome.LOST),
        (A.ABSENT, A.ABSENT, Outcome.LOST),
    ],
)
def test_where_a_guest_is_follows_from_what_both_hosts_have(source, destination, outcome):
    assert settle(source, destination) is outcome


@pytest.mark.parametrize("source", PLACES)
def test_what_runs_at_the_destination_is_never_started_at_the_source(source):
    assert settle(source, Presence.HERE) is Outcome.ARRIVED


@pytest.mark.parametrize(("source", "destination"), [*itertools.product(PLACES, PLACES)])
def test_a_host_that_does_not_answer_may_have_it(source, destination):
    found = settle(source, destination)
    if destination is None and found is Outcome.STAYED:
        assert source is Presence.HERE  # it runs, so it cannot run there
    if source is None or destination is None:
        assert found is not Outcome.LOST
