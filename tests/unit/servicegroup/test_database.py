"""Heartbeats in the database keep the promises of a service group."""

import pytest

from roost.db.cell import models
from tests.fakes.service_groups import DatabaseWorld
from tests.stories.service_groups import *  # noqa: F403


@pytest.fixture
def world(make_database):
    return DatabaseWorld(*(make_database(name, models.metadata) for name in ("one", "two")))
