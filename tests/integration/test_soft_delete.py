"""Servers that can be restored, which other tests try on SQLite, on PostgreSQL and MariaDB."""

from tests.api_harness import client, world
from tests.functional.api.test_server_soft_delete import *  # noqa: F403
from tests.integration.test_api_databases import kept_databases, make_database, server

__all__ = ["client", "kept_databases", "make_database", "server", "world"]
