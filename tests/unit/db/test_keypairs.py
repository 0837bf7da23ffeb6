"""Key pairs in the API-level database."""

import concurrent.futures

from roost import exception
from roost.db.api import keypairs
from roost.db.engine import retried
from tests.builders import a_keypair


def create(session, limit=-1, **values):
    return add(session, a_keypair(**values), limit)


def add(session, keypair, limit=-1):
    return keypairs.create(session, keypair, project_id="project", defaults={"key_pairs": limit})


def names(found):
    return [keypair.name for keypair in found]


def test_a_create_that_is_run_again_makes_one(api_db):
    asked = a_keypair()
    with api_db.begin() as session:
        first = add(session, asked, limit=1)
        assert add(session, asked, limit=1) == first
        assert len(keypairs.list_of_user(session, "user")) == 1


def test_a_deleted_key_pair_leaves_a_new_one_of_its_name_alone(api_db):
    with api_db.begin() as session:
        old = create(session, name="a")
        keypairs.delete(session, old)
        new = create(session, name="a")
        keypairs.delete(session, old)
        assert keypairs.get(session, "user", "a") == new


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
