"""What a request asked for is kept as long as one of its instances is, and no longer."""

import concurrent.futures

from roost.db.api import build_requests, instance_mappings, quota
from roost.db.engine import retried
from tests.builders import a_spec, a_wish

NO_LIMITS = {"instances": -1, "cores": -1, "ram": -1}
PAIRS = 12


def ask_for(database, count):
    """Store a request for some instances; return its uuid and theirs."""
    spec = a_spec()
    made = [a_wish(spec) for _ in range(count)]
    with database.begin() as session:
        build_requests.create(session, made, spec=spec)
        quota.take(
            session,
            project_id="project",
            user_id="user",
            instances=count,
            cores=count,
            ram=512 * count,
            defaults=NO_LIMITS,
        )
    return spec.request_uuid, [build_request.instance_uuid for build_request in made]


def is_kept(database, request_uuid):
    with database.read() as session:
        return build_requests.find_spec(session, request_uuid) is not None


def forget(database, uuid):
    @retried
    def step():
        with database.begin() as session:
            instance_mappings.forget(session, uuid)

    step()


def test_it_goes_with_the_last_of_its_instances(api_db):
    request, (first, last) = ask_for(api_db, 2)
    forget(api_db, first)
    assert is_kept(api_db, request)
    forget(api_db, last)
    assert not is_kept(api_db, request)


def test_it_goes_with_a_wish_that_is_withdrawn(api_db):
    request, (uuid,) = ask_for(api_db, 1)
    with api_db.begin() as session:
        assert instance_mappings.withdraw(session, uuid)
    assert not is_kept(api_db, request)


def test_it_goes_when_the_last_two_are_forgotten_at_the_same_time(api_db):
    pairs = [ask_for(api_db, 2) for _ in range(PAIRS)]
    uuids = [uuid for _, both in pairs for uuid in both]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda uuid: forget(api_db, uuid), uuids))
    assert [request for request, _ in pairs if is_kept(api_db, request)] == []
