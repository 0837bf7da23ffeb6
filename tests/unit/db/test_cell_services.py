"""The daemons of a cell in its database: heartbeats by its clock, and words on them in order."""

import datetime

import pytest

from roost import exception
from roost.db.cell import services
from tests.builders import a_uuid


@pytest.fixture
def session(cell_db):
    with cell_db.begin() as session:
        yield session


def report(session, host="h1", binary="roost-compute"):
    return services.report(session, host=host, binary=binary)


def test_a_roll_call_has_the_time_by_the_clock_that_stamps_heartbeats(session):
    first, second = report(session), report(session, "h2")
    roll = services.call_roll(session)
    assert list(roll.services) == [first, second]
    assert datetime.timedelta(0) <= roll.now - second.last_seen_up < datetime.timedelta(seconds=5)


def test_words_on_whether_a_host_is_disabled_are_in_order_whatever_the_clock_says(session):
    service = report(session)
    assert service.disabled_version == 0
    versions = [
        services.update(session, service.uuid, disabled=disabled).disabled_version
        for disabled in (True, False, True)
    ]
    assert 0 < versions[0] < versions[1] < versions[2]


# which daemon of a name


def known_as(session, state_id):
    return services.report(session, host="h1", binary="roost-compute", state_id=state_id)


def replace(session):
    return services.forget_state(session, "h1", binary="roost-compute")


def test_another_state_path_is_refused_until_an_operator_says_so(session):
    former, new = a_uuid(), a_uuid()
    for _ in range(2):
        known_as(session, former)
    with pytest.raises(exception.Conflict, match="cell replace-host h1"):
        known_as(session, new)
    known_as(session, former)
    assert replace(session)
    assert replace(session)  # nobody heard the answer to the first
    known_as(session, new)
    with pytest.raises(exception.Conflict, match="another state path"):
        known_as(session, former)


def test_a_host_that_never_reported_is_not_replaced(session):
    assert not replace(session)
