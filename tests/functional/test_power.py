"""The stories of power, and of what hosts find amiss, on the embedded rig."""

import pytest

from roost.rig.embedded import EmbeddedRig
from tests.stories.cloud import Cloud
from tests.stories.power import *  # noqa: F403
from tests.stories.reconcile import *  # noqa: F403

SOON = {"conductor": {"sweep_interval": 0.5, "task_lease_seconds": 3.0}}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    rig = EmbeddedRig(tmp_path_factory.mktemp("rig"), hosts=2, overrides=SOON)
    rig.start()
    cloud = Cloud(rig)
    yield cloud
    rig.stop()
    cloud.close()
