"""The stories of boots, zones and groups on the embedded rig: real HTTP, RPC in memory, SQL."""

import pytest

from tests.functional.embedded import embedded_cloud
from tests.stories.aggregates import *  # noqa: F403
from tests.stories.boots import *  # noqa: F403
from tests.stories.server_groups import *  # noqa: F403


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    with embedded_cloud(tmp_path_factory.mktemp("rig")) as cloud:
        yield cloud
