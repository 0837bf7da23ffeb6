"""Fixtures shared by all tests of the API."""

from tests.api_harness import client, options, world

__all__ = ["client", "options", "world"]
