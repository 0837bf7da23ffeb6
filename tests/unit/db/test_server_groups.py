"""Server groups and their members in the API-level database."""

import concurrent.futures

from roost import exception
from roost.db.api import build_requests, instance_mappings, quota, server_groups
from roost.db.engine import retried
from tests.builders import CELL1, a_group, a_spec, a_uuid, a_wish

FREE = dict.fromkeys((*quota.RESOURCES, "server_group_members"), -1)


def create(session, defaults=FREE, **values):
    return server_groups.create(session, a_group(**values), defaults=defaults)


def join(session, group, *instances, defaults=FREE):
    return server_groups.join(
        session, group.uuid, instance_uuids=instances, user_id="user", defaults=defaults
    )


def boot(session, group):
    """Do the API's part of a boot into a group."""
    spec = a_spec()
    build_request = a_wish(spec)
    quota.take(
        session, project_id="project", user_id="user", instances=1, cores=1, ram=512, defaults=FREE
    )
    spec.group = join(session, group, build_request.instance_uuid)
    build_requests.create(session, [build_request], spec=spec)
    return build_request.instance_uuid


def test_whatever_happens_to_groups_has_a_higher_version(api_db):
    with api_db.begin() as session:
        first, second = create(session), create(session)
        gone = server_groups.delete(session, first.uuid)
        third = create(session)
    assert first.version < second.version < gone.version < third.version
    assert (gone.uuid, gone.deleted) == (first.uuid, True)


def test_pages_in_order_of_uuid_hold_each_group_once(api_db):
    with api_db.begin() as session:
        made = sorted(create(session).uuid for _ in range(5))
        first = server_groups.list_page(session, after=None, limit=3)
        rest = server_groups.list_page(session, after=first[-1].uuid, limit=3)
    assert [group.uuid for group in first + rest] == made


def test_an_instance_queued_for_delete_is_no_member_any_more(api_db):
    with api_db.begin() as session:
        group = create(session)
        instance, other = boot(session, group), boot(session, group)
        instance_mappings.map_to_cell(session, instance, CELL1)
        instance_mappings.queue_for_delete(session, instance)
        assert server_groups.get(session, group.uuid).members == [other]
        assert server_groups.list_of_instance(session, instance) == []


def at_once(step, count):
    """Run a step in several threads; return how often it was not refused."""

    def attempt(number):
        try:
            retried(step)(number)
        except (exception.QuotaExceeded, exception.NotFound):
            return False
        return True

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return sum(pool.map(attempt, range(count)))


def test_groups_made_at_once_never_pass_the_quota(api_db):
    def make(_):
        with api_db.begin() as session:
            create(session, FREE | {"server_groups": 5})

    assert at_once(make, 24) == 5
    with api_db.read() as session:
        assert quota.differences(session) == {}


def test_boots_at_once_never_pass_the_quota_of_a_group(api_db):
    with api_db.begin() as session:
        group = create(session)

    def enter(_):
        with api_db.begin() as session:
            join(session, group, a_uuid(), defaults=FREE | {"server_group_members": 5})

    assert at_once(enter, 24) == 5
    with api_db.read() as session:
        assert len(server_groups.get(session, group.uuid).members) == 5


def test_a_group_deleted_by_several_at_once_is_given_back_once(api_db):
    with api_db.begin() as session:
        group, _other = create(session), create(session)
        for _ in range(3):
            boot(session, group)

    def delete(number):
        with api_db.begin() as session:
            if number % 2:
                boot(session, group)
            else:
                server_groups.delete(session, group.uuid)

    at_once(delete, 16)
    with api_db.read() as session:
        assert quota.usage(session, "project")["server_groups"] == 1
        assert quota.differences(session) == {}
