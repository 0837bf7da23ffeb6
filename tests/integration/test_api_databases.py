"""The API's lists and writes, which other tests try on SQLite, on PostgreSQL and MariaDB."""

import pytest

from tests.api_harness import client, world
from tests.builders import a_uuid
from tests.functional.api.test_aggregates import (
    create,
    test_a_host_with_servers_is_not_taken_out_of_its_zone,
    test_the_zone_of_hosts_with_servers_stays,
)
from tests.functional.api.test_lost_commits import (
    forgetful,
    test_a_server_is_given_up_once,
    test_a_wish_is_withdrawn_once,
    test_servers_are_created_and_charged_once,
)
from tests.functional.api.test_server_create import (
    test_a_create_is_accepted_stored_counted_and_announced,
    test_a_create_takes_few_statements,
    test_fewer_are_made_when_the_quota_allows_no_more,
    test_more_than_the_quota_is_refused_whole,
)
from tests.functional.api.test_server_lists import (
    options,
    place_four,
    test_any_order_pages_alike_even_where_values_are_missing,
    test_filters_narrow_a_list,
    test_tags_narrow_a_list_since_2_26,
)
from tests.functional.api.test_sorted_pages import page_through, unlike
from tests.integration.real_databases import make_database
from tests.parts import second
from tests.unit.db.test_aggregates import *  # noqa: F403
from tests.unit.db.test_flavors import *  # noqa: F403
from tests.unit.db.test_instance_lists import *  # noqa: F403
from tests.unit.db.test_networks import *  # noqa: F403
from tests.unit.db.test_request_specs import *  # noqa: F403
from tests.unit.db.test_security_groups import *  # noqa: F403

__all__ = [
    "client",
    "create",
    "forgetful",
    "make_database",
    "options",
    "test_a_create_is_accepted_stored_counted_and_announced",
    "test_a_create_takes_few_statements",
    "test_a_host_with_servers_is_not_taken_out_of_its_zone",
    "test_a_server_is_given_up_once",
    "test_a_wish_is_withdrawn_once",
    "test_any_order_pages_alike_even_where_values_are_missing",
    "test_fewer_are_made_when_the_quota_allows_no_more",
    "test_filters_narrow_a_list",
    "test_more_than_the_quota_is_refused_whole",
    "test_servers_are_created_and_charged_once",
    "test_tags_narrow_a_list_since_2_26",
    "test_the_zone_of_hosts_with_servers_stays",
    "unlike",
    "world",
]


@pytest.fixture
def four(world):
    place_four(world)
    return world


@pytest.fixture
def still(world):
    """Asks a world whose databases are real."""
    return world.client


@pytest.mark.parametrize("direction", ["asc", second("desc")])
def test_every_list_is_paged_through_in_every_order(unlike, direction):
    page_through(unlike, direction)


@pytest.mark.parametrize("name", ["id", "device_id", "network_id"])
def test_what_no_identity_can_be_finds_no_port(world, name):
    for asked in ("\x80", "straße", a_uuid()):
        answer = world.client.get("/network/v2.0/ports", params={name: asked})
        assert answer.json == {"ports": []}
