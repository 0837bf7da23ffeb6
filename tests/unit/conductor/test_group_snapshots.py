"""What the API level tells the schedulers again of server groups."""

import pytest
import sqlalchemy as sa

from roost.conductor.super.scheduler_sync import Snapshots
from roost.db.api import quota, server_groups
from roost.db.scheduler import models
from roost.db.scheduler import server_groups as known
from tests.builders import a_group, a_uuid

FREE = dict.fromkeys((*quota.RESOURCES, "server_group_members"), -1)


class Listener:
    """A scheduler that takes in what it is told."""

    def __init__(self, database):
        self.database = database
        self.messages = []

    def update_aggregates(self, context, *, aggregates, snapshot=None):
        """Those have tests of their own."""

    def update_groups(self, context, *, groups, snapshot=None):
        self.messages.append(groups)
        with self.database.begin() as session:
            known.take_in(session, groups, snapshot=snapshot)

    def knows(self):
        groups = models.server_groups.c
        with self.database.read() as session:
            return set(session.scalars(sa.select(groups.uuid).where(groups.deleted.is_(False))))


@pytest.fixture
def listener(make_database):
    return Listener(make_database("scheduler", models.metadata))


@pytest.fixture
def made(api_db):
    """Five groups, the first with a member."""
    with api_db.begin() as session:
        made = [server_groups.create(session, a_group(), defaults=FREE) for _ in range(5)]
        member = [a_uuid()]
        server_groups.join(
            session, made[0].uuid, instance_uuids=member, user_id="user", defaults=FREE
        )
        return [server_groups.get(session, group.uuid) for group in made]


@pytest.mark.parametrize("page", [1, 2, 5, 100])
def test_pages_cover_every_group_with_its_members(api_db, listener, made, page):
    Snapshots(api_db, listener, page=page).send()
    told = {group.uuid: group for message in listener.messages for group in message}
    assert told == {group.uuid: group for group in made}
    assert listener.knows() == told.keys()
