"""Deleted server groups and aggregates stay for a day, then schedulers forget them."""

import datetime

import sqlalchemy as sa

from roost.db.scheduler import aggregates, models, server_groups, tombstones
from tests.builders import a_group, an_aggregate
from tests.unit.db.test_scheduler_groups import A, B, a_claim, a_host, database, session

__all__ = ["database", "session"]
TABLES = (models.server_groups, models.aggregates)


def tell(session, uuid, *, version, deleted):
    group = a_group(uuid=uuid, version=version, deleted=deleted)
    server_groups.take_in(session, [group], snapshot=None)
    aggregate = an_aggregate(uuid=uuid, version=version, deleted=deleted)
    aggregates.take_in(session, [aggregate], snapshot=None)


def let_a_day_pass(session):
    for table in TABLES:
        for uuid, at in session.execute(sa.select(table.c.uuid, table.c.deleted_at)).all():
            earlier = None if at is None else at - datetime.timedelta(days=1)
            row = sa.update(table).where(table.c.uuid == uuid)
            session.execute(row.values(deleted_at=earlier))


def known(session):
    return [[*session.scalars(sa.select(table.c.uuid).order_by(table.c.uuid))] for table in TABLES]


def test_what_was_deleted_is_forgotten_after_a_day_and_what_is_there_is_not(session):
    tell(session, A, version=1, deleted=False)
    tell(session, B, version=1, deleted=True)
    assert tombstones.forget(session) == 0
    assert tombstones.forget(session) == 0
    assert known(session) == [[A, B], [A, B]]
    let_a_day_pass(session)
    assert tombstones.forget(session) == 2
    assert known(session) == [[A], [A]]


def test_within_that_day_no_late_message_brings_it_back(session):
    tell(session, A, version=2, deleted=True)
    tombstones.forget(session)
    tell(session, A, version=1, deleted=False)
    let_a_day_pass(session)
    assert tombstones.forget(session) == 2


def test_a_group_of_which_there_are_claims_stays(session):
    server_groups.lock(session, [A])
    a_claim(session, a_host(session), group=A)
    tell(session, A, version=1, deleted=True)
    tombstones.forget(session)
    let_a_day_pass(session)
    assert tombstones.forget(session) == 1
    assert known(session) == [[A], []]
