import pytest

from roost import exception
from roost.db.api import flavors
from tests.builders import a_flavor


@pytest.fixture
def session(api_db):
    with api_db.begin() as session:
        flavors.create(session, a_flavor(extra_specs={"a": "1"}))
        big = a_flavor(flavorid="2", name="big", memory_mb=4096, root_gb=20)
        flavors.create(session, big)
        hidden = a_flavor(flavorid="3", name="hidden", is_public=False)
        flavors.create(session, hidden)
        yield session


def _ids(session, **asked):
    return [flavor.flavorid for flavor in flavors.list_flavors(session, **asked)]


@pytest.mark.parametrize("values", [{"flavorid": "1"}, {"name": "big"}])
def test_ids_and_names_are_given_once(session, values):
    with pytest.raises(exception.Conflict, match="already exists"):
        flavors.create(session, a_flavor(**{"flavorid": "9", "name": "nine"} | values))
    assert _ids(session) == ["1", "2"]


@pytest.mark.parametrize(
    ("asked", "ids"),
    [
        ({}, ["1", "2"]),
        ({"is_public": None}, ["1", "2", "3"]),
        ({"is_public": False}, ["3"]),
        ({"min_ram": 1024}, ["2"]),
        ({"min_disk": 2}, ["2"]),
        ({"sort_key": "memory_mb", "sort_dir": "desc"}, ["2", "1"]),
        ({"sort_key": "updated_at", "sort_dir": "desc"}, ["2", "1"]),
        ({"sort_key": "vcpus", "marker": "1"}, ["2"]),
        ({"sort_key": "vcpus", "sort_dir": "desc", "marker": "2"}, ["1"]),
        ({"limit": 1}, ["1"]),
    ],
)
def test_flavors_are_listed_in_order(session, asked, ids):
    assert _ids(session, **asked) == ids


def test_a_deleted_flavor_leaves_nothing(session):
    flavors.delete(session, "1")
    assert _ids(session) == ["2"]
    flavors.create(session, a_flavor())
    assert flavors.get(session, "1").extra_specs == {}
