"""Metadata and tags on PostgreSQL and MariaDB: what many write at once, and lists by tags."""

from tests.api_harness import options, world
from tests.functional.api.test_server_metadata import (
    noted,
    test_a_server_keeps_what_it_was_created_with,
    test_an_item_whose_deletion_nobody_heard_of_is_deleted_once,
    test_parallel_writers_do_not_pass_the_limit,
    test_parallel_writers_lose_nothing,
)
from tests.functional.api.test_server_tags import (
    tagged,
    test_a_new_tag_is_added_and_has_a_place,
    test_lists_follow_what_is_changed,
    test_of_parallel_writers_of_one_tag_one_is_told_that_it_is_new,
)
from tests.integration.real_databases import make_database
from tests.unit.db.test_tags import (
    listed,
    test_an_instance_that_is_taken_back_leaves_no_tags,
    test_other_tags_must_not_be_there_or_not_together,
    test_tags_must_all_be_there_and_one_of_each_group,
)

__all__ = [
    "listed",
    "make_database",
    "noted",
    "options",
    "tagged",
    "test_a_new_tag_is_added_and_has_a_place",
    "test_a_server_keeps_what_it_was_created_with",
    "test_an_instance_that_is_taken_back_leaves_no_tags",
    "test_an_item_whose_deletion_nobody_heard_of_is_deleted_once",
    "test_lists_follow_what_is_changed",
    "test_of_parallel_writers_of_one_tag_one_is_told_that_it_is_new",
    "test_other_tags_must_not_be_there_or_not_together",
    "test_parallel_writers_do_not_pass_the_limit",
    "test_parallel_writers_lose_nothing",
    "test_tags_must_all_be_there_and_one_of_each_group",
    "world",
]
