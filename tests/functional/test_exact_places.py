"""The stories of exact placement on the embedded rig: real HTTP, real RPC, real SQL."""

import json

import pytest

from roost.rig.embedded import EmbeddedRig
from tests.stories.cloud import Cloud
from tests.stories.exact_places import *  # noqa: F403
from tests.stories.exact_places import ALIASES, INVENTORY


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rig")
    inventory = folder / "inventory.json"
    inventory.write_text(json.dumps(INVENTORY))
    overrides = {
        "pci": {"alias": json.dumps(ALIASES)},
        "fake_driver": {"inventory_file": str(inventory)},
    }
    rig = EmbeddedRig(folder / "state", cells=1, hosts=3, overrides=overrides)
    rig.start()
    cloud = Cloud(rig)
    yield cloud
    rig.stop()
    cloud.close()
