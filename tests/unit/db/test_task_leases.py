"""Leases on tasks, on SQLite."""

from tests.stories.task_leases import *  # noqa: F403
