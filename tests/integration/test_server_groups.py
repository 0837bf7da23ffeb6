"""What is kept of server groups, which other tests try on SQLite, on PostgreSQL and MariaDB."""

from tests.integration.real_databases import (
    kept_in_mariadb,
    kept_in_postgresql,
    make_database,
    server,
)
from tests.unit.db.test_scheduler_groups import *  # noqa: F403
from tests.unit.db.test_scheduler_tombstones import *  # noqa: F403
from tests.unit.db.test_server_groups import *  # noqa: F403

__all__ = ["kept_in_mariadb", "kept_in_postgresql", "make_database", "server"]
