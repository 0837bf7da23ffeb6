"""Fixtures shared by all tests of the API."""

from tests.api_world import client, options, world

__all__ = ["client", "options", "world"]
