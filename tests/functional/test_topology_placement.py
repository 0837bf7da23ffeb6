"""The stories of exact placement on the embedded rig: real HTTP, real RPC, real SQL."""

import json

import pytest

from tests.functional.embedded import embedded_cloud
from tests.stories.topology_placement import *  # noqa: F403
from tests.stories.topology_placement import ALIASES, INVENTORY


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rig")
    inventory = folder / "inventory.json"
    inventory.write_text(json.dumps(INVENTORY))
    overrides = {
        "pci": {"alias": json.dumps(ALIASES)},
        "fake_driver": {"inventory_file": str(inventory)},
    }
    with embedded_cloud(folder / "state", cells=1, hosts=3, overrides=overrides) as cloud:
        yield cloud
