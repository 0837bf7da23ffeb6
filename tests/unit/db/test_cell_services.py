"""The daemons of a cell in its database: heartbeats by its clock, and words on them in order."""

import datetime

import pytest
import sqlalchemy as sa

from roost import exception
from roost.db.cell import models as cell_models
from roost.db.cell import services
from tests.builders import a_uuid
from tests.fakes.service_groups import age


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


def test_a_roll_call_can_be_for_some_only(session):
    report(session)
    conductor = report(session, binary="roost-cell-conductor")
    assert list(services.call_roll(session, binary="roost-cell-conductor").services) == [conductor]


def test_a_heartbeat_is_as_late_as_it_comes(session):
    report(session)
    age(session, 60)
    silent = services.call_roll(session)
    report(session)
    heard = services.call_roll(session)
    (before,), (after,) = silent.services, heard.services
    assert silent.now - before.last_seen_up >= datetime.timedelta(seconds=60)
    assert heard.now - after.last_seen_up < datetime.timedelta(seconds=5)


def test_words_on_whether_a_host_is_disabled_are_in_order_whatever_the_clock_says(session):
    service = report(session)
    assert service.disabled_version == 0
    versions = [
        services.update(session, service.uuid, disabled=disabled).disabled_version
        for disabled in (True, False, True)
    ]
    assert 0 < versions[0] < versions[1] < versions[2]


def test_other_changes_are_no_word_on_that(session):
    service = report(session)
    changed = services.update(session, service.uuid, forced_down=True)
    assert (changed.forced_down, changed.disabled_version) == (True, 0)


def test_a_daemon_that_is_not_there_is_not_changed(session):
    with pytest.raises(exception.NotFound):
        services.update(session, a_uuid(), disabled=True)


# which daemon of a name


def known_as(session, state_id, starts, run_id):
    state = {"state_id": state_id, "starts": starts, "run_id": run_id}
    return services.report(session, host="h1", binary="roost-compute", state=state)


def replace(session, known=None):
    known = known or services.start_of(session, "h1", binary="roost-compute")
    return services.forget_state(session, "h1", binary="roost-compute", known=known)


def test_a_host_is_known_by_its_state_path_over_restarts(session):
    state, first, second = a_uuid(), a_uuid(), a_uuid()
    for starts, run in ((1, first), (1, first), (2, second), (2, second)):
        known_as(session, state, starts, run)


def test_another_state_path_is_refused_until_an_operator_says_so(session):
    former, other = (a_uuid(), 7, a_uuid()), (a_uuid(), 1, a_uuid())
    known_as(session, *former)
    with pytest.raises(exception.Conflict, match="cell replace-host h1"):
        known_as(session, *other)
    assert replace(session)
    with pytest.raises(exception.Conflict, match="Another machine is to be"):
        known_as(session, *former)  # it still runs, and may be the first to report
    known_as(session, *other)
    with pytest.raises(exception.Conflict):
        known_as(session, *former)


def test_a_replaced_host_is_refused_also_when_it_is_started_again(session):
    former, copy = (a_uuid(), 7, a_uuid()), a_uuid()
    known_as(session, *former)
    replace(session)
    for starts, run in ((7, former[2]), (8, a_uuid()), (9, a_uuid())):
        with pytest.raises(exception.Conflict, match="Another machine is to be"):
            known_as(session, former[0], starts, run)
    known_as(session, former[0], 6, copy)  # of a copy that is older
    known_as(session, former[0], 6, copy)


def test_who_was_replaced_by_mistake_is_the_host_again_when_that_is_said_once_more(session):
    state, again = a_uuid(), (8, a_uuid())
    known_as(session, state, 7, a_uuid())
    replace(session)
    with pytest.raises(exception.Conflict, match="cell replace-host h1 once more"):
        known_as(session, state, *again)
    assert replace(session)
    known_as(session, state, *again)
    with pytest.raises(exception.Conflict):
        known_as(session, a_uuid(), 1, a_uuid())


def test_a_replacement_that_is_told_again_does_not_refuse_who_has_come(session):
    known_as(session, a_uuid(), 7, a_uuid())
    before = services.start_of(session, "h1", binary="roost-compute")
    new = (a_uuid(), 1, a_uuid())
    assert replace(session, before)
    assert replace(session, before)  # nobody heard the answer to the first
    known_as(session, *new)
    assert not replace(session, before)
    known_as(session, *new)


def test_a_host_that_a_release_before_was_told_to_replace_stays_replaced(session):
    state, run = a_uuid(), a_uuid()
    known_as(session, state, 7, run)
    session.execute(sa.update(cell_models.services).values(state_id=None))
    with pytest.raises(exception.Conflict):
        known_as(session, state, 7, run)
    known_as(session, a_uuid(), 1, a_uuid())


def test_a_daemon_tells_its_start_and_nothing_else(session):
    state = {"state_id": a_uuid(), "starts": 1, "run_id": a_uuid()}
    more = {"disabled": True, "host": "other", "availability_zone": "theirs"}
    for _ in range(2):
        known = services.report(session, host="h1", binary="roost-compute", state={**state, **more})
    assert (known.disabled, known.host, known.availability_zone) == (False, "h1", None)
    again = {**state, **more, "state_id": a_uuid()}
    services.note_state(
        session, "h1", binary="roost-compute", state=again, instead_of=state["state_id"]
    )
    (known,) = services.list_services(session)
    assert (known.disabled, known.host, known.availability_zone) == (False, "h1", None)


def test_a_host_that_is_made_known_after_a_restore_is_not_replaced(session):
    former, new = (a_uuid(), 7, a_uuid()), (a_uuid(), 1, a_uuid())
    known_as(session, *former)
    replace(session)
    state = dict(zip(("state_id", "starts", "run_id"), new, strict=True))
    services.note_state(session, "h1", binary="roost-compute", state=state, instead_of=former[0])
    known_as(session, *new)


def test_of_two_copies_of_one_state_path_the_one_that_was_started_last_is_the_host(session):
    state, before, copy = a_uuid(), a_uuid(), a_uuid()
    known_as(session, state, 4, before)
    known_as(session, state, 5, copy)
    for starts, run in ((4, before), (5, a_uuid())):
        with pytest.raises(exception.Conflict, match="was started since"):
            known_as(session, state, starts, run)


def test_an_old_copy_of_the_cell_takes_its_hosts_in(session):
    state = a_uuid()
    known_as(session, state, 4, a_uuid())
    known_as(session, state, 9, a_uuid())
