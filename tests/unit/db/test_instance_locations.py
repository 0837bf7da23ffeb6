"""Where instances are, as hosts see it."""

import datetime

import pytest
import sqlalchemy as sa

from roost import states
from roost.db.cell import instance_locations, instances, left_behind, migrations, models
from roost.db.types import utcnow
from roost.objects.host import DELETED, ELSEWHERE, HERE, LEFT, MOVING, NOWHERE, UNKNOWN
from tests.builders import NOW, a_migration, a_uuid, an_instance

AT_REST = {"vm_state": states.ACTIVE, "task_state": None}


@pytest.fixture
def place(cell_db):
    def place(host, **values):
        made = an_instance(host=host, **AT_REST | values)
        with cell_db.begin() as session:
            instances.create(session, made)
        return made.uuid

    return place


@pytest.fixture
def look(cell_db):
    """Ask as host h1; answer by uuid."""

    def look(*uuids, and_others_here=False):
        with cell_db.read() as session:
            found = instance_locations.look(session, "h1", uuids, and_others_here=and_others_here)
        assert len({each.instance_uuid for each in found}) == len(found)
        return {each.instance_uuid: each for each in found}

    return look


def test_each_instance_is_somewhere(cell_db, place, look):
    here, there, no_host, stranger = place("h1"), place("h2"), place(None), a_uuid()
    gone = place("h1")
    with cell_db.begin() as session:
        instances.mark_deleted(session, gone)
    found = look(here, there, no_host, gone, stranger)
    assert [found[uuid].presence for uuid in (here, there, no_host, gone, stranger)] == [
        *(HERE, ELSEWHERE, NOWHERE, DELETED, UNKNOWN)
    ]


def test_what_was_left_behind_counts_as_that_unless_the_database_may_be_an_old_copy(
    cell_db, place, look
):
    there, here, moving = place("h2"), place("h1"), place("h2")
    with cell_db.begin() as session:
        for uuid in (there, here, moving):
            left_behind.note(session, uuid, "h1")
        migrations.create(session, a_migration(instance_uuid=moving))
    found = look(there, here, moving)
    assert [found[uuid].presence for uuid in (there, here, moving)] == [LEFT, HERE, MOVING]
    long_ago = utcnow() - left_behind.OLD_COPY - datetime.timedelta(minutes=1)
    with cell_db.begin() as session:
        session.execute(sa.update(models.left_behind).values(noted_at=long_ago))
    assert look(there)[there].presence == ELSEWHERE
    with cell_db.begin() as session:
        left_behind.renew(session, "h1")  # the host has started again
    assert look(there)[there].presence == LEFT


def test_its_host_attempt_and_states_are_told(place, look):
    uuid = place("h2", attempt=3, task_state=states.REBOOTING, power_state=1, launched_at=NOW)
    (told,) = look(uuid).values()
    assert (told.host, told.attempt, told.launched) == ("h2", 3, True)
    assert (told.vm_state, told.task_state, told.power_state) == ("active", "rebooting", 1)


def test_the_others_of_the_host_are_told_if_asked_for(cell_db, place, look):
    asked, other, gone = place("h2"), place("h1"), place("h1")
    with cell_db.begin() as session:
        instances.mark_deleted(session, gone)
    assert set(look(asked)) == {asked}
    assert set(look(asked, and_others_here=True)) == {asked, other}


def test_any_number_may_be_asked_for(place, look):
    uuid = place("h1")
    strangers = [a_uuid() for _ in range(1500)]
    found = look(*strangers, uuid)
    assert len(found) == 1501
    assert found[uuid].presence == HERE


def test_servers_that_move_are_read_at_once_however_many_there_are(cell_db, place):
    """Their rows name the other host."""
    left, mine = [place("h2") for _ in range(3)], place("h1")
    with cell_db.begin() as session:
        for uuid in [*left, mine]:
            migrations.create(session, a_migration(instance_uuid=uuid))
    statements = []
    note = lambda *asked: statements.append(asked[2])  # noqa: E731
    with cell_db.read() as session:
        sa.event.listen(cell_db.engine, "before_cursor_execute", note)
        found = migrations.list_elsewhere(session, "h1")
        some = migrations.list_elsewhere(session, "h1", [left[1], mine, a_uuid()])
        sa.event.remove(cell_db.engine, "before_cursor_execute", note)
    assert {one.uuid for one in found} == set(left)
    assert [one.uuid for one in some] == [left[1]]
    assert len(statements) == 2 * 2
