"""Fixtures shared by all tests of the API."""

import pytest

from roost.api.parts import Options
from tests import api_world
from tests.api_world import client, options, world

__all__ = ["client", "options", "shared", "world"]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A world for all tests of a module: each makes what it needs, and asks for that only."""
    with api_world.made_in(
        tmp_path_factory.mktemp("world"), Options(max_limit=50, verifies_images=True)
    ) as world:
        yield world
