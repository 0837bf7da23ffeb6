"""The database functions, which the unit tests try on SQLite, on PostgreSQL and MariaDB."""

from tests.functional.test_audit_repairs import (
    test_all_damage_at_once_is_repaired_too,
    test_servers_that_come_and_go_are_no_findings,
    world,
)
from tests.integration.real_databases import (
    kept_in_mariadb,
    kept_in_postgresql,
    make_database,
    server,
)
from tests.unit.db.test_api_level import *  # noqa: F403
from tests.unit.db.test_cell import *  # noqa: F403
from tests.unit.db.test_cell_services import *  # noqa: F403
from tests.unit.db.test_user_quotas import *  # noqa: F403

__all__ = [
    "kept_in_mariadb",
    "kept_in_postgresql",
    "make_database",
    "server",
    "test_all_damage_at_once_is_repaired_too",
    "test_servers_that_come_and_go_are_no_findings",
    "world",
]
