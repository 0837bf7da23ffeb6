"""The API's lists and writes, which other tests try on SQLite, on PostgreSQL and MariaDB."""

import pytest

from roost.db.engine import Database
from roost.rig.services import unique_name
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
    test_any_order_pages_alike_even_where_values_are_missing,
    test_filters_narrow_a_list,
    test_names_are_ordered_by_their_characters,
    test_tags_narrow_a_list_since_2_26,
)
from tests.unit.api.test_fuzz import (
    test_a_good_body_gone_bad_in_one_place_is_answered,
    test_any_query_is_answered,
    test_odd_paths_are_not_found,
    test_odd_queries_are_answered,
)
from tests.unit.db.test_aggregates import *  # noqa: F403
from tests.unit.db.test_flavors import *  # noqa: F403
from tests.unit.db.test_instance_lists import *  # noqa: F403
from tests.unit.db.test_network_quota import *  # noqa: F403
from tests.unit.db.test_request_specs import *  # noqa: F403
from tests.unit.db.test_security_groups import *  # noqa: F403

__all__ = [
    "client",
    "create",
    "forgetful",
    "options",
    "test_a_create_is_accepted_stored_counted_and_announced",
    "test_a_create_takes_few_statements",
    "test_a_good_body_gone_bad_in_one_place_is_answered",
    "test_a_host_with_servers_is_not_taken_out_of_its_zone",
    "test_a_server_is_given_up_once",
    "test_a_wish_is_withdrawn_once",
    "test_any_order_pages_alike_even_where_values_are_missing",
    "test_any_query_is_answered",
    "test_fewer_are_made_when_the_quota_allows_no_more",
    "test_filters_narrow_a_list",
    "test_more_than_the_quota_is_refused_whole",
    "test_names_are_ordered_by_their_characters",
    "test_odd_paths_are_not_found",
    "test_odd_queries_are_answered",
    "test_servers_are_created_and_charged_once",
    "test_tags_narrow_a_list_since_2_26",
    "test_the_zone_of_hosts_with_servers_stays",
    "world",
]


@pytest.fixture(scope="module", params=["postgresql", "mariadb"])
def server(request):
    """A database server of each kind in turn."""
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def kept_databases(server):
    """Databases by name and server: making one takes longer than most of these tests."""
    kept = {}
    yield kept
    for database_name, database in kept.values():
        database.close()
        server.drop_database(database_name)


@pytest.fixture
def still(world):
    """Asks a world whose databases are real."""
    return world.client


@pytest.fixture
def make_database(server, kept_databases):
    """The same promise as on SQLite: what is made is empty."""

    def make(name, metadata):
        if name not in kept_databases:
            database_name = unique_name("test")
            database = Database(server.create_database(database_name), connections=10)
            metadata.create_all(database.engine)
            kept_databases[name] = (database_name, database)
        _, database = kept_databases[name]
        with database.begin() as session:
            for table in reversed(metadata.sorted_tables):
                session.execute(table.delete())
        return database

    yield make
    for _, database in kept_databases.values():
        vars(database).pop("read", None)  # what a test put in the way
        vars(database).pop("begin", None)


@pytest.mark.parametrize("name", ["id", "device_id", "network_id"])
def test_what_no_identity_can_be_finds_no_port(world, name):
    for asked in ("\x80", "straße", a_uuid()):
        answer = world.client.get("/network/v2.0/ports", params={name: asked})
        assert answer.json == {"ports": []}
