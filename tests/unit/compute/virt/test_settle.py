"""What has become of a guest that was to be moved, whoever died on the way."""

import pytest

from roost import exception
from roost.compute.virt.live_migration import (
    MigrationRest,
    MigrationSource,
    MovingDisk,
    pack,
    unpack,
)
from roost.operations.presence import MigrationOutcome, Presence, outcome_of

A = Presence
PLACES = [*Presence, None]


@pytest.mark.parametrize(
    ("source", "destination", "outcome"),
    [
        (A.HERE, A.ABSENT, MigrationOutcome.STAYED),
        (A.HERE, A.ROOM, MigrationOutcome.STAYED),
        (A.HERE, None, MigrationOutcome.STAYED),
        (A.STOPPED, A.ROOM, MigrationOutcome.STAYED),
        (A.UNDECIDED, A.ROOM, MigrationOutcome.STAYED),
        (A.UNDECIDED, A.ABSENT, MigrationOutcome.STAYED),
        (A.LEAVING, A.ARRIVING, MigrationOutcome.WAIT),
        (A.LEAVING, A.ROOM, MigrationOutcome.WAIT),
        (A.LEAVING, None, MigrationOutcome.WAIT),
        (A.HERE, A.ARRIVING, MigrationOutcome.WAIT),
        (A.UNDECIDED, A.ARRIVING, MigrationOutcome.WAIT),
        (A.UNDECIDED, None, MigrationOutcome.WAIT),
        (A.STOPPED, None, MigrationOutcome.WAIT),
        (A.ROOM, None, MigrationOutcome.WAIT),
        (None, A.ROOM, MigrationOutcome.WAIT),
        (None, None, MigrationOutcome.WAIT),
        (A.ROOM, A.HERE, MigrationOutcome.ARRIVED),
        (A.ROOM, A.STOPPED, MigrationOutcome.ARRIVED),
        (A.UNDECIDED, A.HERE, MigrationOutcome.ARRIVED),
        (None, A.HERE, MigrationOutcome.ARRIVED),
        (A.TORN, A.TORN, MigrationOutcome.TORN),
        (A.TORN, None, MigrationOutcome.TORN),
        (A.ROOM, A.ROOM, MigrationOutcome.LOST),
        (A.ABSENT, A.ABSENT, MigrationOutcome.LOST),
    ],
)
def test_where_a_guest_is_follows_from_what_both_hosts_have(source, destination, outcome):
    assert outcome_of(source, destination) is outcome


@pytest.mark.parametrize("source", PLACES)
def test_what_runs_at_the_destination_is_never_started_at_the_source(source):
    assert outcome_of(source, Presence.HERE) is MigrationOutcome.ARRIVED


def test_what_a_host_hands_over_is_what_the_other_reads():
    disk = MovingDisk("disk", "vda", 10, 5, base="base")
    given = MigrationSource("uuid", "h1", "fake", 1, "here", (disk,), b"\x00drive", {"cpu": "x"})
    assert unpack(MigrationSource, pack(given)) == given
    rest = MigrationRest(b"login: \xff")
    assert unpack(MigrationRest, pack(rest)) == rest


@pytest.mark.parametrize("text", [None, "", "room", "bm90IHppcHBlZA==", pack(MigrationRest())])
def test_what_is_something_else_is_refused(text):
    with pytest.raises(exception.Invalid, match="something else"):
        unpack(MigrationSource, text)
