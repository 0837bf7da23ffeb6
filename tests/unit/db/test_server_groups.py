"""Server groups and their members in the API-level database."""

import concurrent.futures

import pytest

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


def test_a_group_is_found_as_it_was_made(api_db):
    with api_db.begin() as session:
        made = create(session, policy="anti-affinity", max_server_per_host=2)
        assert server_groups.get(session, made.uuid) == made
        assert (made.max_server_per_host, made.members, made.deleted) == (2, [], False)


def test_a_group_that_is_not_there_is_named(api_db):
    for what in (server_groups.get, server_groups.delete):
        with api_db.begin() as session, pytest.raises(exception.NotFound, match="group abc"):
            what(session, "abc")


def test_whatever_happens_to_groups_has_a_higher_version(api_db):
    with api_db.begin() as session:
        first, second = create(session), create(session)
        gone = server_groups.delete(session, first.uuid)
        third = create(session)
    assert first.version < second.version < gone.version < third.version
    assert (gone.uuid, gone.deleted) == (first.uuid, True)


def test_a_version_is_not_given_again_when_its_group_is_gone(api_db):
    with api_db.begin() as session:
        gone = server_groups.delete(session, create(session).uuid)
    with api_db.begin() as session:
        assert create(session).version > gone.version


def test_groups_are_listed_by_project_in_order_of_creation(api_db):
    with api_db.begin() as session:
        made = [create(session, project_id=project).uuid for project in "abaa"]
        mine = server_groups.list_groups(session, project_id="a", offset=1, limit=1)
        everybodys = server_groups.list_groups(session, project_id=None, offset=0, limit=9)
    assert [group.uuid for group in mine] == [made[2]]
    assert [group.uuid for group in everybodys] == made


def test_pages_in_order_of_uuid_hold_each_group_once(api_db):
    with api_db.begin() as session:
        made = sorted(create(session).uuid for _ in range(5))
        first = server_groups.list_page(session, after=None, limit=3)
        rest = server_groups.list_page(session, after=first[-1].uuid, limit=3)
    assert [group.uuid for group in first + rest] == made


def test_members_are_listed_in_the_order_they_joined(api_db):
    with api_db.begin() as session:
        group, other = create(session), create(session)
        members = [boot(session, group) for _ in range(3)]
        boot(session, other)
        assert server_groups.get(session, group.uuid).members == members
        assert server_groups.list_of_instance(session, members[0]) == [group.uuid]


def test_a_request_has_the_group_without_its_members(api_db):
    with api_db.begin() as session:
        group = create(session)
        first, second = boot(session, group), boot(session, group)
        spec = build_requests.get_spec(session, instance_mappings.get(session, second).request_uuid)
    assert spec.group == group
    assert first != second


def test_a_withdrawn_wish_is_no_member_any_more(api_db):
    with api_db.begin() as session:
        group = create(session)
        instance_mappings.withdraw(session, boot(session, group))
        assert server_groups.get(session, group.uuid).members == []


def test_an_instance_queued_for_delete_is_no_member_any_more(api_db):
    with api_db.begin() as session:
        group = create(session)
        instance, other = boot(session, group), boot(session, group)
        instance_mappings.place(session, instance, CELL1)
        instance_mappings.queue_for_delete(session, instance)
        assert server_groups.get(session, group.uuid).members == [other]
        assert server_groups.list_of_instance(session, instance) == []


def test_a_mapping_that_is_forgotten_leaves_no_member(api_db):
    with api_db.begin() as session:
        group = create(session)
        instance_mappings.forget(session, boot(session, group))
        assert server_groups.get(session, group.uuid).members == []


def test_the_members_of_a_deleted_group_are_in_none(api_db):
    with api_db.begin() as session:
        group = create(session)
        instance = boot(session, group)
        server_groups.delete(session, group.uuid)
        assert server_groups.list_of_instance(session, instance) == []
        assert instance_mappings.find(session, instance) is not None


def test_nobody_joins_a_group_that_is_gone(api_db):
    with api_db.begin() as session:
        group = create(session)
        server_groups.delete(session, group.uuid)
        with pytest.raises(exception.NotFound, match=group.uuid):
            join(session, group, a_uuid())


def test_groups_count_against_the_project_until_they_are_gone(api_db):
    two = FREE | {"server_groups": 2}
    with api_db.begin() as session:
        first, _second = create(session, two), create(session, two)
        with pytest.raises(exception.QuotaExceeded, match="server_groups"):
            create(session, two)
        server_groups.delete(session, first.uuid)
        create(session, two)
        assert quota.usage(session, "project")["server_groups"] == 2
        assert quota.counted(session) == quota.all_usages(session)


def test_a_group_has_so_many_members_and_no_more(api_db):
    three = FREE | {"server_group_members": 3}
    with api_db.begin() as session:
        group = create(session)
        join(session, group, a_uuid(), a_uuid(), defaults=three)
        with pytest.raises(exception.QuotaExceeded, match="too many servers in group"):
            join(session, group, a_uuid(), a_uuid(), defaults=three)
        join(session, group, a_uuid(), defaults=three)
        assert len(server_groups.get(session, group.uuid).members) == 3


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
        assert quota.counted(session) == quota.all_usages(session)


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
        assert quota.counted(session) == quota.all_usages(session)
