"""What is kept of server groups, which other tests try on SQLite, on PostgreSQL and MariaDB."""

from tests.integration.real_databases import make_database
from tests.unit.db.test_scheduler_groups import *  # noqa: F403
from tests.unit.db.test_scheduler_tombstones import *  # noqa: F403
from tests.unit.db.test_server_groups import *  # noqa: F403

__all__ = ["make_database"]
