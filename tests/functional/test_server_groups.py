"""The stories of server groups on the embedded rig: real HTTP, real RPC in memory, real SQL."""

import pytest

from roost.rig.embedded import EmbeddedRig
from tests.stories.cloud import Cloud
from tests.stories.server_groups import *  # noqa: F403


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    rig = EmbeddedRig(tmp_path_factory.mktemp("rig"))
    rig.start()
    cloud = Cloud(rig)
    yield cloud
    rig.stop()
    cloud.close()
