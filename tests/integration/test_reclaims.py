"""Reclaiming and purging servers, which other tests try on SQLite, on PostgreSQL and MariaDB."""

from tests.integration.real_databases import (
    kept_in_mariadb,
    kept_in_postgresql,
    make_database,
    server,
)
from tests.unit.conductor.conftest import world
from tests.unit.conductor.test_purge import *  # noqa: F403
from tests.unit.conductor.test_soft_delete import *  # noqa: F403

__all__ = ["kept_in_mariadb", "kept_in_postgresql", "make_database", "server", "world"]
