"""Fixtures shared by all tests of the API."""

import pytest

from roost.api.dependencies import ApiOptions
from tests import api_harness
from tests.api_harness import client, options, world

__all__ = ["client", "options", "shared", "world"]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A world for all tests of a module: each makes what it needs, and asks for that only."""
    with api_harness.made_in(
        tmp_path_factory.mktemp("world"), ApiOptions(max_limit=50, verifies_images=True)
    ) as world:
        yield world
