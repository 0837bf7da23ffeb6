"""What one user uses of a project, and may: counted exactly, whoever else is at it."""

import concurrent.futures

import pytest

from roost import exception
from roost.db.api import build_requests, instance_mappings, quota, soft_delete
from roost.db.api import server_groups as groups
from roost.db.engine import retried
from roost.objects import ServerGroup
from tests.builders import CELL1, a_spec, a_uuid, a_wish

FREE = {"instances": -1, "cores": -1, "ram": -1, "server_groups": -1}
THREADS = 8


def limit(database, user="alice", **limits):
    with database.begin() as session:
        quota.set_for_user(session, "project", user, limits)


@retried
def boot(database, user="alice", count=1, defaults=FREE):
    """Do the API's part of a boot; return the uuids of the instances, None if it is refused."""
    spec = a_spec()
    wishes = [a_wish(spec, user_id=user) for _ in range(count)]
    try:
        with database.begin() as session:
            asked = {"instances": count, "cores": count, "ram": 512 * count}
            whose = {"project_id": "project", "user_id": user}
            quota.take(session, **whose, **asked, defaults=defaults)
            build_requests.create(session, wishes, spec=spec)
    except exception.QuotaExceeded:
        return None
    return [build_request.instance_uuid for build_request in wishes]


@retried
def delete(database, uuid):
    with database.begin() as session:
        instance_mappings.queue_for_delete(session, uuid)


def used(database, user="alice"):
    with database.read() as session:
        return quota.usage_of_user(session, "project", user)


def everybodys(database):
    """What the project is charged, once it is known to be what it has."""
    with database.read() as session:
        assert quota.differences(session) == {}
        return quota.usage(session, "project")


def test_a_user_meets_their_own_limit_and_others_do_not(api_db):
    limit(api_db, cores=2)
    assert boot(api_db, count=2)
    assert boot(api_db) is None
    assert boot(api_db, "bob", count=3)
    assert (used(api_db)["cores"], used(api_db, "bob")["cores"]) == (2, 3)
    assert everybodys(api_db)["cores"] == 5


def test_a_refusal_says_what_the_user_has_and_takes_nothing(api_db):
    limit(api_db, instances=1, ram=1024)
    boot(api_db)
    boot(api_db, "bob", count=3)
    asked = {"project_id": "project", "user_id": "alice", "instances": 1, "ram": 9999}
    with api_db.begin() as session, pytest.raises(exception.QuotaExceeded) as caught:
        quota.take(session, **asked, defaults=FREE)
    told = caught.value.details
    assert told["resources"] == ["instances", "ram"]
    assert (told["used"]["instances"], told["limits"]["instances"]) == (1, 1)
    assert everybodys(api_db)["instances"] == 4


def test_the_lower_limit_is_the_one_that_a_user_meets(api_db):
    limit(api_db, instances=5, cores=5, ram=5)
    with api_db.read() as session:
        defaults = {"instances": 9, "cores": 3, "ram": -1}
        bounds = quota.bounds(session, "project", defaults, user_id="alice")
    assert bounds == {"instances": 5, "cores": 3, "ram": 5}


def test_what_is_deleted_or_put_away_leaves_room_for_its_user(api_db):
    limit(api_db, instances=2)
    gone, away = boot(api_db, count=2)
    delete(api_db, gone)
    with api_db.begin() as session:
        instance_mappings.map_to_cell(session, away, CELL1)
        soft_delete.soft_delete(session, away)
    assert used(api_db) == dict.fromkeys(quota.RESOURCES, 0)
    assert boot(api_db, count=2)


def test_what_is_restored_counts_once_against_its_user(api_db):
    limit(api_db, instances=2)
    _one, away = boot(api_db, count=2)
    with api_db.begin() as session:
        instance_mappings.map_to_cell(session, away, CELL1)
        soft_delete.settle(session, soft_delete.soft_delete(session, away).operation_uuid)
    with api_db.begin() as session:
        soft_delete.restore(session, instance_mappings.get(session, away), defaults=FREE)
    assert used(api_db)["instances"] == everybodys(api_db)["instances"] == 2


def test_nothing_is_restored_whose_user_has_no_room(api_db):
    limit(api_db, instances=1)
    (away,) = boot(api_db)
    with api_db.begin() as session:
        instance_mappings.map_to_cell(session, away, CELL1)
        soft_delete.settle(session, soft_delete.soft_delete(session, away).operation_uuid)
    boot(api_db)
    with pytest.raises(exception.QuotaExceeded), api_db.begin() as session:
        soft_delete.restore(session, instance_mappings.get(session, away), defaults=FREE)
    assert used(api_db)["instances"] == everybodys(api_db)["instances"] == 1


def test_server_groups_count_against_their_user(api_db):
    limit(api_db, server_groups=1)
    values = {"project_id": "project", "name": "a", "policy": "affinity"}

    def create(user):
        group = ServerGroup.of(uuid=a_uuid(), user_id=user, max_server_per_host=None, **values)
        with api_db.begin() as session:
            return groups.create(session, group, defaults=FREE)

    create("alice")
    create("bob")
    with pytest.raises(exception.QuotaExceeded):
        create("alice")
    assert (used(api_db)["server_groups"], everybodys(api_db)["server_groups"]) == (1, 2)


def test_parallel_boots_of_a_user_never_pass_their_limit(api_db):
    limit(api_db, instances=10)
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        booted = list(pool.map(lambda _: boot(api_db), range(40)))
    assert len([each for each in booted if each]) == 10
    assert used(api_db)["instances"] == everybodys(api_db)["instances"] == 10


def test_two_hundred_boots_and_deletes_at_once_are_counted_exactly(api_db):
    """Two users of one project, one of them limited; who is refused tries no more."""
    limit(api_db, instances=4, cores=4)
    most = []

    def boot_and_delete(number):
        user = ("alice", "bob")[number % 2]
        for uuid in boot(api_db, user) or ():
            most.append(used(api_db)["instances"])
            if number % 5:
                delete(api_db, uuid)
            return user
        return None

    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        done = list(pool.map(boot_and_delete, range(200)))
    assert 0 < max(most) <= 4
    assert done.count("bob") == 100
    kept = {user: used(api_db, user)["instances"] for user in ("alice", "bob")}
    assert kept["bob"] == 20
    assert everybodys(api_db)["instances"] == sum(kept.values())
