"""Every list is paged through in every order that its query has in any microversion."""

import pytest

from roost.api import microversions
from roost.api.dependencies import ApiOptions
from roost.db.api import flavors
from tests.builders import CELL1, CELL2, NOW, a_flavor
from tests.functional.api.test_query_extremes import documents

WHOLE = {"all_tenants": "1", "is_public": "none"}  # what queries say that want all there are


def orders():
    """List by noun and key the last route, version and document that have the key."""
    return {
        (route.noun.__name__, key): (route, minor, document["properties"])
        for route, minor, document in documents()
        for key in document["properties"].get("sort_key", {}).get("items", {}).get("enum", ())
    }


ORDERS = orders()


@pytest.fixture
def options():
    return ApiOptions(max_limit=100)


@pytest.fixture
def unlike(world):
    """A world with servers and flavors that differ in much, and are alike in some of it."""
    for number, home in enumerate([CELL1, CELL2, None, CELL1, CELL2]):
        world.place(
            home,
            display_name=f"s{number % 3}",
            config_drive=number % 2 == 0,
            locked=number % 3 == 0,
            locked_by=(None, "owner", "admin")[number % 3],
            launched_at=NOW if number % 2 else None,
        )
        flavor = a_flavor(
            flavorid=f"f{number}",
            name=f"f{4 - number}",
            vcpus=1 + number % 2,
            rxtx_factor=1.1 + number % 2,
            is_public=number % 2 == 0,
            disabled=number % 3 == 0,
            description="a" if number else None,
        )
        with world.api_db.begin() as session:
            flavors.create(session, flavor)
    return world


def ids(world, route, minor, params):
    answer = world.client.get(route.path, params=params, version=microversions.name(minor))
    assert answer.status_code == 200, (params, answer.text)
    return [one["id"] for one in answer.json[route.path.split("/")[2]]]


@pytest.mark.parametrize("direction", ["asc", "desc"])
def test_every_list_is_paged_through_in_every_order(unlike, direction):
    page_through(unlike, direction)


def page_through(unlike, direction):
    assert {noun for noun, _ in ORDERS} >= {"Servers", "Flavors"}
    for (_, key), (route, minor, names) in ORDERS.items():
        asked = {name: value for name, value in WHOLE.items() if name in names}
        asked |= {"sort_key": key, "sort_dir": direction}
        whole = ids(unlike, route, minor, asked)
        assert len(whole) >= 5
        paged = ids(unlike, route, minor, asked | {"limit": "2"})
        while more := ids(unlike, route, minor, asked | {"limit": "2", "marker": paged[-1]}):
            paged += more
            assert len(paged) <= len(whole), key
        assert paged == whole, key
