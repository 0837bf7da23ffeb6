"""The stories of servers that move, on the embedded rig."""

import pytest

from tests.functional.embedded import embedded_cloud
from tests.stories.moves import *  # noqa: F403

SOON = {"conductor": {"sweep_interval": 0.5, "task_lease_seconds": 3.0}}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    with embedded_cloud(tmp_path_factory.mktemp("rig"), hosts=3, overrides=SOON) as cloud:
        yield cloud
