"""A real Keystone on loopback: one's own, made in a moment of what is installed once."""

import pathlib
import shutil

import requests

from roost.rig.openstack import identity, packages, plan, services
from roost.rig.openstack.plan import KEYSTONE
from roost.rig.services.private import free_port
from tests.external.process import Process

PASSWORD = "secret"  # of everybody but the administrator
REGION = plan.REGION


class Keystone(identity.KeystoneAdmin):
    """A Keystone of one's own, with an administrator; use it in a ``with`` block.

    :param installed: the folder of ``roost.rig.openstack.packages``
    :param folder: for its database, keys and log
    """

    def __init__(self, installed, folder):
        self._folder = folder
        port = free_port()
        super().__init__(f"http://127.0.0.1:{port}/v3", packages.FIRST_PASSWORD)
        services.prepare_keystone(installed, folder)
        shutil.copy(pathlib.Path(__file__).with_name("keystone_filter.py"), folder / "filter.py")
        self._process = Process(installed, KEYSTONE, port, folder)

    def __enter__(self):
        self._process.start()
        self.region()
        self.service("identity", self.url)
        return self

    def __exit__(self, *_):
        self._process.stop()

    @property
    def log(self):
        return self._process.log

    def login(self, user, project, *, password=PASSWORD, **scope):
        """Return a session of somebody, for a project unless ``scope`` says otherwise."""
        return identity.login(self.url, user, project, password, **scope)

    def user(self, name, project, *roles):
        """Make somebody who has roles in a project, and return their id."""
        return super().user(name, PASSWORD, project, *roles)

    def credentials(self, user):
        """Return the options by which a service proves who it is."""
        return plan.credentials(self.url, user, PASSWORD)

    def judging(self, user):
        """Return the options of keystonemiddleware: how a service, as this user, judges tokens."""
        return plan.judging(self.url, user, PASSWORD)

    def short_token(self, user, project, *, seconds):
        """Return a token that lives so many seconds."""
        person = {"name": user, "domain": {"id": "default"}, "password": PASSWORD}
        scope = {"project": {"name": project, "domain": {"id": "default"}}}
        answer = requests.post(
            f"{self.url}/auth/tokens",
            json={
                "auth": {
                    "identity": {"methods": ["password"], "password": {"user": person}},
                    "scope": scope,
                }
            },
            headers={"X-Token-Seconds": str(seconds)},
            timeout=30,
        )
        answer.raise_for_status()
        return answer.headers["X-Subject-Token"]

    def revoke(self, token):
        headers = {"X-Subject-Token": token}
        self.admin.delete(f"{self.url}/auth/tokens", headers=headers)
