"""Reclaiming and purging servers, which other tests try on SQLite, on PostgreSQL and MariaDB."""

from tests.integration.real_databases import make_database
from tests.unit.conductor.conftest import world
from tests.unit.conductor.test_purge import *  # noqa: F403
from tests.unit.conductor.test_soft_delete import *  # noqa: F403

__all__ = ["make_database", "world"]
