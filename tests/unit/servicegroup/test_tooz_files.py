"""Groups by tooz keep the promises of a service group; here they are kept in files."""

import pytest

from tests.fakes.service_groups import FileWorld
from tests.stories.service_groups import *  # noqa: F403
from tests.stories.tooz_groups import *  # noqa: F403


@pytest.fixture
def world(tmp_path):
    made = FileWorld(tmp_path / "groups")
    yield made
    made.close()
