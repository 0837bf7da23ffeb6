"""Key pairs in the API-level database."""

import concurrent.futures

import pytest

from roost import exception
from roost.db.api import keypairs, models
from roost.db.engine import retried
from tests.builders import a_keypair


def create(session, limit=-1, **values):
    return add(session, a_keypair(**values), limit)


def add(session, keypair, limit=-1):
    return keypairs.create(session, keypair, project_id="project", defaults={"key_pairs": limit})


def names(found):
    return [keypair.name for keypair in found]


def test_a_key_pair_is_found_as_it_was_made(api_db):
    asked = a_keypair(name="a")
    with api_db.begin() as session:
        made = add(session, asked)
        assert keypairs.get(session, "user", "a") == made
    assert made.values() == asked.values() | {"id": made.id}
    assert made.id > 0


def test_a_key_pair_that_is_not_there_is_named(api_db):
    with api_db.begin() as session:
        create(session, name="a", user_id="other")
        assert keypairs.find(session, "user", "a") is None
        with pytest.raises(exception.NotFound, match="Keypair a not found for user user"):
            keypairs.get(session, "user", "a")


def test_a_user_has_a_name_once(api_db):
    with api_db.begin() as session:
        first = create(session, name="a")
        create(session, name="A")
        create(session, name="a", user_id="other")
        with pytest.raises(exception.Conflict, match=r"Key pair 'a' already exists\."):
            create(session, name="a")
        assert keypairs.get(session, "user", "a") == first


def test_a_create_that_is_run_again_makes_one(api_db):
    asked = a_keypair()
    with api_db.begin() as session:
        first = add(session, asked, limit=1)
        assert add(session, asked, limit=1) == first
        assert len(keypairs.list_of_user(session, "user")) == 1


def test_a_users_key_pairs_are_listed_by_pages_in_order_of_name(api_db):
    with api_db.begin() as session:
        for name in ("c", "a", "d", "b"):
            create(session, name=name)
        create(session, name="x", user_id="other")
        assert names(keypairs.list_of_user(session, "user")) == ["a", "b", "c", "d"]
        assert names(keypairs.list_of_user(session, "user", limit=3)) == ["a", "b", "c"]
        assert names(keypairs.list_of_user(session, "user", after="b", limit=1)) == ["c"]
        with pytest.raises(exception.NotFound):
            keypairs.list_of_user(session, "user", after="x")


def test_a_deleted_key_pair_leaves_a_new_one_of_its_name_alone(api_db):
    with api_db.begin() as session:
        old = create(session, name="a")
        keypairs.delete(session, old)
        new = create(session, name="a")
        keypairs.delete(session, old)
        assert keypairs.get(session, "user", "a") == new


def test_a_user_has_so_many_and_no_more(api_db):
    with api_db.begin() as session:
        first = create(session, limit=2)
        create(session, limit=2)
        create(session, limit=2, user_id="other")
        with pytest.raises(exception.QuotaExceeded, match="too many key pairs"):
            create(session, limit=2)
        keypairs.delete(session, first)
        create(session, limit=2)


def test_the_limit_of_the_project_counts(api_db):
    own = {"project_id": "project", "resource": "key_pairs", "hard_limit": 1}
    with api_db.begin() as session:
        session.execute(models.quota_limits.insert().values(own))
        create(session, limit=100)
        with pytest.raises(exception.QuotaExceeded):
            create(session, limit=100)


def at_once(database, made):
    """Make key pairs in several threads; return those that were not refused."""

    @retried
    def attempt(keypair):
        try:
            with database.begin() as session:
                return add(session, keypair, limit=5)
        except (exception.QuotaExceeded, exception.Conflict):
            return None

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return [keypair for keypair in pool.map(attempt, made) if keypair is not None]


def test_of_several_made_at_once_under_one_name_there_is_one(api_db):
    (made,) = at_once(api_db, [a_keypair(name="a") for _ in range(16)])
    with api_db.read() as session:
        assert keypairs.list_of_user(session, "user") == [made]


def test_those_made_at_once_never_pass_the_quota(api_db):
    made = at_once(api_db, [a_keypair(name=f"key{number}") for number in range(24)])
    assert len(made) == 5
    with api_db.read() as session:
        assert len(keypairs.list_of_user(session, "user")) == 5
