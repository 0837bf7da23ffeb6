"""A real Glance: a process of its own on loopback, with SQLite and images in a folder.

With a Keystone it believes whom that knows, else what a token says of itself.
"""

import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import urllib.error
import urllib.request

import requests

from roost.rig.plan import free_port
from tests.outside.keystone import section
from tests.stories.cloud import wait_until

ROOT = pathlib.Path(__file__).parents[2]
_CONFIG = """\
[DEFAULT]
log_file = {folder}/glance.log
enabled_backends = local:file
enabled_import_methods = []
workers = 1
[database]
connection = sqlite:///{folder}/glance.sqlite
[glance_store]
default_backend = local
[local]
filesystem_store_datadir = {folder}/images
[os_glance_staging_store]
filesystem_store_datadir = {folder}/staging
[os_glance_tasks_store]
filesystem_store_datadir = {folder}/tasks
[paste_deploy]
config_file = {folder}/paste.ini
[oslo_policy]
enforce_new_defaults = true
"""
_PASTE = """\
[composite:glance-api]
paste.composite_factory = glance.api:root_app_factory
/: api
[composite:api]
paste.composite_factory = glance.api:pipeline_factory
default = versionnegotiation {judge}context rootapp
[composite:rootapp]
paste.composite_factory = glance.api:root_app_factory
/: apiversions
/v2: apiv2app
[app:apiversions]
paste.app_factory = glance.api.versions:create_resource
[app:apiv2app]
paste.app_factory = glance.api.v2.router:API.factory
[filter:versionnegotiation]
paste.filter_factory = glance.api.middleware.version_negotiation:VersionNegotiationFilter.factory
[filter:authtoken]
paste.filter_factory = keystonemiddleware.auth_token:filter_factory
delay_auth_decision = true
[filter:context]
paste.filter_factory = glance.api.middleware.context:ContextMiddleware.factory
"""


def install(folder):
    """Make sure that Glance is installed in this folder; done once, it takes long."""
    subprocess.run(
        ["sh", ROOT / "tools/glance.sh", folder],
        env={**os.environ, "PYTHON": sys.executable},
        check=True,
    )


class Glance:
    """One Glance; it may be stopped and started again on the same port.

    :param installed: the folder of :func:`install`
    :param folder: an empty one, for all that it keeps
    :param keystone: who judges tokens, asked as the user ``glance``; None: nobody does
    """

    def __init__(self, installed, folder, *, keystone=None):
        self._installed = installed
        self._folder = folder
        self._keystone = keystone
        self._port = free_port(0)
        self._process = None
        self._prepare()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_exc):
        self.stop()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._port}"

    def start(self):
        with (self._folder / "output.log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    self._installed / "venv/bin/python",
                    "-P",  # its folder has modules of the same names
                    ROOT / "tests/outside/glance_server.py",
                    str(self._port),
                    "judged" if self._keystone else "trusted",
                ],
                cwd=self._folder,
                stdout=log,
                stderr=log,
            )
        try:
            wait_until(self._answers, f"Glance answers; see {self._folder}")
        except BaseException:
            self.stop()
            raise

    def stop(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

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

    def _prepare(self):
        for name in ("images", "staging", "tasks"):
            (self._folder / name).mkdir()
        shutil.copy(self._installed / "template/glance.sqlite", self._folder)
        config, judge = _CONFIG.format(folder=self._folder), ""
        if self._keystone:
            config += section("keystone_authtoken", self._keystone.judging("glance"))
            judge = "authtoken "
        (self._folder / "glance-api.conf").write_text(config)
        (self._folder / "paste.ini").write_text(_PASTE.format(judge=judge))

    def _answers(self):
        assert self._process.poll() is None, "Glance has ended"
        try:
            with urllib.request.urlopen(self.url, timeout=5):
                return True
        except urllib.error.HTTPError as error:
            return error.code == 300
        except OSError:
            return False
