"""The changes of hosts from a marker on, in PostgreSQL and MariaDB."""

from tests.integration.real_databases import make_database
from tests.unit.db.test_scheduler_changes import *  # noqa: F403

__all__ = ["make_database"]
