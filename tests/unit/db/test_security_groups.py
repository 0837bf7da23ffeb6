"""Security groups in the API database, whoever else is at them."""

from concurrent import futures

import pytest

from roost import exception
from roost.db.api import security_groups as rows
from roost.db.engine import retried
from roost.security_groups import SecurityGroupRule, new_group
from tests.builders import NOW, a_uuid


@pytest.fixture
def at_once():
    """Run functions at once; return what they returned or raised."""

    def at_once(*functions):
        with futures.ThreadPoolExecutor(len(functions)) as executor:
            running = [executor.submit(function) for function in functions]
            return [one.exception() or one.result() for one in running]

    return at_once


@pytest.fixture
def make(api_db):
    @retried
    def make(**values):
        group = new_group(**{"project_id": "project", "name": a_uuid(), "description": ""} | values)
        with api_db.begin() as session:
            rows.create(session, group, at=NOW)
        return group

    return make


def test_of_two_who_make_a_group_of_one_name_one_succeeds(make, at_once):
    done = at_once(*[lambda: make(name="web")] * 2)
    assert sum(isinstance(one, exception.Conflict) for one in done) == 1


def test_of_two_who_add_the_same_rule_one_succeeds(api_db, make, at_once):
    group = make()

    @retried
    def add():
        rule = SecurityGroupRule(
            id=a_uuid(), group_id=group.id, direction="ingress", ethertype="IPv4"
        )
        with api_db.begin() as session:
            rows.add_rule(session, rule, at=NOW)

    assert sum(isinstance(one, exception.Conflict) for one in at_once(add, add)) == 1
    with api_db.read() as session:
        assert len(rows.get(session, group.id).rules) == 3


@pytest.mark.parametrize("_round", range(5))
def test_a_group_is_deleted_or_joined_and_never_both(api_db, make, at_once, _round):
    group, server = make(), a_uuid()

    @retried
    def delete():
        with api_db.begin() as session:
            rows.delete(session, group.id)

    @retried
    def join():
        with api_db.begin() as session:
            rows.join(session, [group.id], [server])

    deleted, joined = at_once(delete, join)
    with api_db.read() as session:
        found, held = rows.find(session, group.id), rows.groups_of(session, server)
    if deleted is None:
        assert (found, held, type(joined)) == (None, None, exception.NotFound)
    else:
        assert (found, held, joined) == (group, {group.id}, None)
        assert isinstance(deleted, exception.Conflict)


def test_steps_may_be_repeated(api_db, make):
    group, server = make(), a_uuid()
    for _ in range(2):
        with api_db.begin() as session:
            rows.create(session, group, at=NOW)
            rows.join(session, [group.id], [server])
    for _ in range(2):
        with api_db.begin() as session:
            rows.put(session, [], server)
            rows.delete(session, group.id)
    with api_db.read() as session:
        assert rows.list_groups(session, "project") == []
        assert rows.groups_of(session, server) == set()


def test_what_users_took_from_the_default_group_stays_away(api_db):
    for _ in range(2):
        with api_db.begin() as session:
            default = rows.get(session, rows.ensure_default(session, "project", at=NOW))
            rows.delete_rule(session, default.rules[0].id)
    with api_db.read() as session:
        assert len(rows.get(session, default.id).rules) == 2
