"""A deployment in this process, as the stories see it."""

import contextlib

from roost.rig.embedded import EmbeddedRig
from tests.stories.cloud import Cloud


@contextlib.contextmanager
def embedded_cloud(folder, **values):
    """Have a rig run in a folder; ``values`` are as of :class:`roost.rig.embedded.EmbeddedRig`."""
    rig = EmbeddedRig(folder, **values)
    rig.start()
    cloud = Cloud(rig)
    try:
        yield cloud
    finally:
        rig.stop()
        cloud.close()
