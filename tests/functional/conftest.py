"""The embedded rig, for tests that share one."""

import pytest

from roost.rig.embedded import EmbeddedRig


@pytest.fixture(scope="module")
def rig(tmp_path_factory):
    """Two cells of three hosts in this process; shared by the tests of a module."""
    made = EmbeddedRig(tmp_path_factory.mktemp("rig"))
    made.start()
    yield made
    made.stop()
