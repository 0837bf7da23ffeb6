"""A real Keystone on loopback: installed once, copied and served for whoever wants one."""

import functools
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys

import requests
from keystoneauth1 import session
from keystoneauth1.identity import v3

from roost.rig.plan import free_port
from tests.stories.cloud import wait_until

ROOT = pathlib.Path(__file__).parents[2]
REGION = "RegionOne"
PASSWORD = "secret"  # of everybody but the administrator
_CONFIGURATION = """\
[database]
connection = sqlite:///{folder}/keystone.sqlite
sqlite_synchronous = false
[fernet_tokens]
key_repository = {folder}/keys
[fernet_receipts]
key_repository = {folder}/keys
[credential]
key_repository = {folder}/keys
[cache]
enabled = true
backend = oslo_cache.dict
[identity]
password_hash_rounds = 4
"""


def install(folder):
    """Have Keystone, and a deployment to copy, in a folder that is kept from run to run."""
    subprocess.run(
        ["sh", str(ROOT / "tools/keystone.sh"), str(folder)],
        env={**os.environ, "PYTHON": sys.executable},
        check=True,
    )


def section(name, options):
    """Return a section of a configuration file."""
    return "".join([f"[{name}]\n", *(f"{key} = {value}\n" for key, value in options.items())])


class Keystone:
    """A Keystone of one's own, with an administrator; use it in a ``with`` block.

    :param installed: where ``install`` put it
    :param folder: for its database, keys and log
    """

    def __init__(self, installed, folder):
        self._installed = installed
        self._folder = folder
        self._port = free_port(0)
        self.url = f"http://127.0.0.1:{self._port}/v3"
        self._ids = {}
        self._process = None

    def __enter__(self):
        self._prepare()
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    str(self._installed / "venv/bin/python"),
                    "-P",  # keystone is theirs, not the module beside the script
                    str(ROOT / "tests/outside/keystone_server.py"),
                    str(self._folder / "keystone.conf"),
                    str(self._port),
                ],
                stdout=log,
                stderr=log,
            )
        try:
            wait_until(self._answers, "Keystone answers")
        except BaseException:
            self.__exit__()
            raise
        self.admin = self.login("admin", "admin", password="admin")
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()

    @property
    def log(self):
        return (self._folder / "log").read_text()

    def login(self, user, project, *, password=PASSWORD, **scope):
        """Return a session of somebody, for a project unless ``scope`` says otherwise."""
        place = {"project_name": project, "project_domain_id": "default"} if project else scope
        plugin = v3.Password(
            self.url, username=user, user_domain_id="default", password=password, **place
        )
        return session.Session(plugin, timeout=30)

    def credentials(self, user, project="service"):
        """Return the options by which a service proves who it is."""
        return {
            "auth_type": "password",
            "auth_url": self.url,
            "username": user,
            "user_domain_id": "default",
            "password": PASSWORD,
            "project_name": project,
            "project_domain_id": "default",
            "region_name": REGION,
        }

    def judging(self, user):
        """Return the options of keystonemiddleware: how a service, as this user, judges tokens."""
        return {
            "www_authenticate_uri": self.url,
            "service_token_roles": "service",
            "service_token_roles_required": "true",
            **self.credentials(user),
        }

    def service(self, kind, url):
        """Put a service into the catalog."""
        made = self._post("service", type=kind, name=kind)
        for interface in ("public", "internal"):
            self._post("endpoint", service_id=made, interface=interface, url=url, region_id=REGION)

    def project(self, name):
        """Make a project, and return its id."""
        self._ids[name] = self._post("project", name=name, domain_id="default")
        return self._ids[name]

    def user(self, name, project, *roles):
        """Make somebody who has roles in a project, and return their id."""
        made = self._post("user", name=name, password=PASSWORD, domain_id="default")
        for role in roles:
            self.grant(made, project, role)
        return made

    def grant(self, user_id, project, role):
        path = f"/projects/{self._ids[project]}/users/{user_id}/roles/{self._roles[role]}"
        self.admin.put(self.url + path)

    @functools.cached_property
    def _roles(self):
        found = self.admin.get(f"{self.url}/roles").json()["roles"]
        return {role["name"]: role["id"] for role in found}

    def short_token(self, user, project, *, seconds):
        """Return a token that lives so many seconds."""
        identity = {"name": user, "domain": {"id": "default"}, "password": PASSWORD}
        scope = {"project": {"name": project, "domain": {"id": "default"}}}
        answer = requests.post(
            f"{self.url}/auth/tokens",
            json={
                "auth": {
                    "identity": {"methods": ["password"], "password": {"user": identity}},
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

    def _post(self, noun, **values):
        return self.admin.post(f"{self.url}/{noun}s", json={noun: values}).json()[noun]["id"]

    def _prepare(self):
        shutil.copytree(self._installed / "template", self._folder, dirs_exist_ok=True)
        (self._folder / "keystone.conf").write_text(_CONFIGURATION.format(folder=self._folder))
        with sqlite3.connect(self._folder / "keystone.sqlite") as database:
            database.execute("UPDATE endpoint SET url = ?", (self.url,))
        database.close()

    def _answers(self):
        assert self._process.poll() is None, self.log
        try:
            return requests.get(self.url, timeout=5).ok
        except requests.ConnectionError:
            return False
