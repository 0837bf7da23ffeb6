"""What is kept of server groups, which other tests try on SQLite, on PostgreSQL and MariaDB."""

from tests.integration.test_api_databases import kept_databases, make_database, server
from tests.unit.db.test_scheduler_groups import *  # noqa: F403
from tests.unit.db.test_scheduler_tombstones import *  # noqa: F403
from tests.unit.db.test_server_groups import *  # noqa: F403

__all__ = ["kept_databases", "make_database", "server"]
