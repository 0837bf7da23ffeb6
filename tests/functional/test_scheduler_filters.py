"""The stories of filters on the embedded rig: real HTTP, real RPC in memory, real SQL."""

import pytest

from roost.rig.embedded import EmbeddedRig
from tests.stories.cloud import Cloud
from tests.stories.scheduler_filters import *  # noqa: F403
from tests.stories.scheduler_filters import INVENTORY, add_image, options


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    state = tmp_path_factory.mktemp("rig")
    isolated = add_image(state / "images")
    rig = EmbeddedRig(
        state, cells=1, hosts=len(INVENTORY), overrides=options(isolated), inventory=INVENTORY
    )
    rig.start()
    cloud = Cloud(rig)
    (cloud.image,) = {image["id"] for image in cloud.client.images()} - {isolated}
    yield cloud
    rig.stop()
    cloud.close()
