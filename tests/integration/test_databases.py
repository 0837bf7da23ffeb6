"""The database functions, which the unit tests try on SQLite, on PostgreSQL and MariaDB."""

from tests.functional.test_audit_repairs import (
    test_all_damage_at_once_is_repaired_too,
    test_servers_that_come_and_go_are_no_findings,
    world,
)
from tests.integration.real_databases import make_database
from tests.unit.db.test_api_level import *  # noqa: F403
from tests.unit.db.test_cell import *  # noqa: F403
from tests.unit.db.test_cell_services import *  # noqa: F403
from tests.unit.db.test_operation_locks import *  # noqa: F403
from tests.unit.db.test_user_quotas import *  # noqa: F403

__all__ = [
    "make_database",
    "test_all_damage_at_once_is_repaired_too",
    "test_servers_that_come_and_go_are_no_findings",
    "world",
]
