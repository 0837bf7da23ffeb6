"""The stories of aggregates on the embedded rig: real HTTP, real RPC in memory, real SQL."""

import pytest

from roost.rig.embedded import EmbeddedRig
from tests.stories.aggregates import *  # noqa: F403
from tests.stories.cloud import Cloud


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    rig = EmbeddedRig(tmp_path_factory.mktemp("rig"))
    rig.start()
    cloud = Cloud(rig)
    yield cloud
    rig.stop()
    cloud.close()
