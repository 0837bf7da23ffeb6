"""A real Heat: heat-api and heat-engine on loopback, with SQLite, beside a rig with Keystone."""

import contextlib
import os
import secrets
import signal
import subprocess

import requests

from roost.rig.files import config_text, write_secret
from roost.rig.openstack import plan
from roost.rig.openstack.identity import KeystoneAdmin
from roost.rig.services.private import free_port
from tests.stories.cloud import wait_until

HEAT = "heat"


class Heat:
    """One Heat, in the catalog once it runs; use it in a ``with`` block.

    :param installed: the folder of ``tools/heat.sh``
    :param folder: an empty one, for its configuration, its database and its logs
    :param openstack: the services of the rig that it is for
    :param broker: the URL of an empty virtual host
    """

    def __init__(self, installed, folder, *, openstack, broker):
        self.bin = installed / "venv/bin"
        self._folder = folder
        self._file = folder / "heat.conf"
        self._openstack = openstack
        self._port = free_port()
        self._running = contextlib.ExitStack()
        self._password = secrets.token_urlsafe(18)
        write_secret(self._file, config_text(self._options(installed, broker)))

    def _options(self, installed, broker):
        identity = self._openstack.identity
        ourselves = plan.credentials(identity, HEAT, self._password) | {"project_name": HEAT}
        trustee = ("auth_type", "auth_url", "username", "user_domain_id", "password")
        return {
            "DEFAULT": {
                "transport_url": broker,
                "num_engine_workers": 1,
                # With it, an update was seen to stay in progress after its only resource was done.
                "convergence_engine": "false",
                "auth_encryption_key": secrets.token_hex(16),
                "region_name_for_services": plan.REGION,
            },
            "database": {"connection": f"sqlite:///{self._folder}/heat.sqlite?timeout=60"},
            "keystone_authtoken": {"www_authenticate_uri": identity, **ourselves},
            "trustee": {name: ourselves[name] for name in trustee},
            "clients_keystone": {"auth_uri": identity},
            "paste_deploy": {"api_paste_config": installed / "venv/etc/heat/api-paste.ini"},
        }

    def __enter__(self):
        url = f"http://127.0.0.1:{self._port}"
        configured = ("--config-file", self._file)
        self._tell_keystone(f"{url}/v1/%(tenant_id)s")
        with self._running:
            self._start("heat-manage", *configured, "db_sync").wait()
            self._start("heat-engine", *configured)
            address = ("--host", "127.0.0.1", "--port", str(self._port))
            self._start("heat-wsgi-api", *address, "--", *configured)
            wait_until(lambda: _answers(url), "Heat answers", timeout=120)
            self._running = self._running.pop_all()
        return self

    def __exit__(self, *_):
        self._running.close()

    def log(self, program="heat-engine"):
        return (self._folder / program).read_text()

    def _tell_keystone(self, url):
        identity = KeystoneAdmin(self._openstack.identity, self._openstack.passwords[plan.ADMIN])
        identity.project(HEAT)
        identity.user(HEAT, self._password, HEAT, "service", "admin")
        identity.service("orchestration", url, name=HEAT)

    def _start(self, program, *words):
        with (self._folder / program).open("ab") as log:
            process = subprocess.Popen(
                [self.bin / program, *words],
                env=_clean(),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._running.callback(_end, process)
        return process


def _clean():
    """Return the variables of this process without those for our own Python and clients."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("OS_")}
    return {name: text for name, text in kept.items() if not name.startswith("PYTHON")}


def _answers(url):
    try:
        return requests.get(url, timeout=30).status_code == requests.codes.multiple_choices
    except requests.RequestException:
        return False


def _end(process):
    """End a program with its workers: it is the leader of their group."""
    process.terminate()
    try:
        process.wait(30)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
