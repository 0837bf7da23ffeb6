"""Wishes, mappings, quota and cells in the API-level database."""

import concurrent.futures
import datetime

import pytest

from roost import exception
from roost.db.api import build_requests, cells, instance_mappings, quota
from roost.db.engine import retried
from tests.builders import CELL1, CELL2, a_spec, a_wish

NO_LIMITS = {"instances": -1, "cores": -1, "ram": -1}
TEN = {"instances": 10, "cores": 20, "ram": 10240}


def wishes(session, count=1, spec=None, **values):
    spec = spec or a_spec()
    made = [a_wish(spec, **values) for _ in range(count)]
    build_requests.create(session, made, spec=spec)
    for _ in made:
        quota.take(
            session,
            project_id="project",
            user_id="user",
            instances=1,
            cores=1,
            ram=512,
            defaults=NO_LIMITS,
        )
    return made


def test_a_wish_under_lease_is_nobody_elses(api_db):
    with api_db.begin() as session:
        uuids = [build_request.instance_uuid for build_request in wishes(session, 3)]
        first = build_requests.lease(session, owner="a", seconds=30, instance_uuids=uuids)
        second = build_requests.lease(session, owner="b", seconds=30, instance_uuids=uuids)
    assert (len(first), len(second)) == (3, 0)


def test_a_lease_that_ran_out_is_taken_over(api_db):
    with api_db.begin() as session:
        uuids = [build_request.instance_uuid for build_request in wishes(session)]
        build_requests.lease(session, owner="a", seconds=-1, instance_uuids=uuids)
        assert build_requests.lease(session, owner="b", seconds=30, instance_uuids=uuids)


def test_a_lease_handed_back_is_free_at_once(api_db):
    with api_db.begin() as session:
        uuids = [build_request.instance_uuid for build_request in wishes(session)]
        build_requests.lease(session, owner="a", seconds=30, instance_uuids=uuids)
        build_requests.hand_back(session, "a")
        assert build_requests.lease(session, owner="b", seconds=30, instance_uuids=uuids)


def test_the_sweeper_sees_old_wishes_and_leaves_young_ones(api_db):
    now = datetime.datetime.now(datetime.UTC)
    with api_db.begin() as session:
        (old,) = wishes(session, created_at=now - datetime.timedelta(minutes=1))
        wishes(session, created_at=now)
        waiting = build_requests.list_waiting(session, older_than=datetime.timedelta(seconds=5))
    assert [build_request.instance_uuid for build_request in waiting] == [old.instance_uuid]


def test_a_mapping_begins_without_a_cell(api_db):
    with api_db.begin() as session:
        (build_request,) = wishes(session)
        mapping = instance_mappings.get(session, build_request.instance_uuid)
        assert mapping.cell_uuid is None
        instance_mappings.map_to_cell(session, build_request.instance_uuid, CELL1)
        assert instance_mappings.get(session, build_request.instance_uuid).cell_uuid == CELL1


def test_a_withdrawn_wish_leaves_nothing_and_counts_for_nothing(api_db):
    with api_db.begin() as session:
        (build_request,) = wishes(session)
        assert instance_mappings.withdraw(session, build_request.instance_uuid)
        assert instance_mappings.find(session, build_request.instance_uuid) is None
        assert set(quota.usage(session, "project").values()) == {0}
        assert not instance_mappings.withdraw(session, build_request.instance_uuid)


def test_an_instance_queued_for_delete_gives_its_quota_back_once(api_db):
    with api_db.begin() as session:
        one, _two = wishes(session, 2)
        assert instance_mappings.queue_for_delete(session, one.instance_uuid)
        assert instance_mappings.queue_for_delete(session, one.instance_uuid) is None
        instance_mappings.forget(session, one.instance_uuid)
        assert quota.usage(session, "project")["instances"] == 1
        assert quota.counted(session)["project"]["instances"] == 1


def test_a_project_is_charged_for_what_it_has_when_it_is_counted_anew(api_db):
    nothing = dict.fromkeys(quota.RESOURCES, 0)
    with api_db.begin() as session:
        wishes(session, 3)
        has = quota.usage(session, "project")
        quota.charge(session, project_id="project", instances=2, cores=40)
        quota.charge(session, project_id="other", ram=1)
        wrong = has | {"instances": has["instances"] + 2, "cores": has["cores"] + 40}
        found = {"other": (nothing | {"ram": 1}, nothing), "project": (wrong, has)}
        assert quota.differences(session) == found
        assert quota.recount(session, "project") == (wrong, has)
        assert quota.recount(session, "project") == (has, has)
        quota.recount(session, "other")
        assert quota.differences(session) == {}


def test_counting_anew_loses_nothing_that_is_taken_or_given_back_meanwhile(api_db):
    with api_db.begin() as session:
        made = wishes(session, 12)

    @retried
    def step(number):
        with api_db.begin() as session:
            if number % 3 == 0:
                quota.recount(session, "project")
            elif number % 3 == 1:
                wishes(session)
            else:
                instance_mappings.queue_for_delete(session, made[number // 3].instance_uuid)

    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        list(pool.map(step, range(36)))
    with api_db.begin() as session:
        assert quota.differences(session) == {}
        assert quota.usage(session, "project")["instances"] == 12


def test_a_refused_taking_takes_nothing(api_db):
    with api_db.begin() as session:
        with pytest.raises(exception.QuotaExceeded) as caught:
            quota.take(
                session,
                project_id="p",
                user_id="user",
                instances=1,
                cores=21,
                ram=99999,
                defaults=TEN,
            )
        assert caught.value.details["resources"] == ["cores", "ram"]
        assert set(quota.usage(session, "p").values()) == {0}


def test_parallel_takings_never_pass_the_limit(api_db):
    @retried
    def take(_):
        try:
            with api_db.begin() as session:
                quota.take(
                    session,
                    project_id="p",
                    user_id="user",
                    instances=1,
                    cores=1,
                    ram=1,
                    defaults=TEN,
                )
        except exception.QuotaExceeded:
            return False
        return True

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(take, range(40))) == 10


def test_a_host_is_mapped_once_and_to_one_cell(api_db):
    with api_db.begin() as session:
        assert cells.map_host(session, "h1", CELL1)
        assert not cells.map_host(session, "h1", CELL1)
        with pytest.raises(exception.Conflict, match="must be unique over all cells"):
            cells.map_host(session, "h1", CELL2)
