"""A real Glance: a process of its own on loopback, with SQLite and images in a folder.

With a Keystone it believes whom that knows, else what a token says of itself.
"""

import contextlib
import pathlib
import shutil

import requests

from roost.rig.openstack import services
from roost.rig.openstack.plan import GLANCE
from roost.rig.services.private import free_port
from tests.external.process import Process


class Glance(Process):
    """One Glance; it may be stopped and started again on the same port.

    :param installed: the folder of ``roost.rig.openstack.packages``
    :param folder: an empty one, for all that it keeps
    :param keystone: who judges tokens, asked as the user ``glance``; None: nobody does
    """

    def __init__(self, installed, folder, *, keystone=None):
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        services.prepare_glance(installed, folder, keystone.judging(GLANCE) if keystone else None)
        if keystone is None:
            shutil.copy(pathlib.Path(__file__).with_name("glance_filter.py"), folder / "filter.py")
        super().__init__(installed, GLANCE, port, folder)

    @contextlib.contextmanager
    def away(self):
        """Be gone within the block."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def deactivate(self, image_id, *, token):
        """Let nobody have an image, as administrators do."""
        requests.post(
            f"{self.url}/v2/images/{image_id}/actions/deactivate",
            headers={"X-Auth-Token": token},
            timeout=30,
        ).raise_for_status()
