"""A real Neutron on loopback: installed once, its tables copied and served for whoever wants one.

With a Keystone it believes whom that knows, else everybody is its administrator. It has no agents,
see ``neutron_mechanism``.
"""

import os
import pathlib
import shutil
import subprocess
import sys

import requests

from tests.outside.keystone import section
from tests.stories.cloud import wait_until

ROOT = pathlib.Path(__file__).parents[2]
_CONFIGURATION = """\
[DEFAULT]
core_plugin = ml2
service_plugins =
auth_strategy = {strategy}
transport_url = fake:/
api_paste_config = {installed}/venv/etc/neutron/api-paste.ini
state_path = {folder}
dhcp_agent_notification = false
send_events_interval = 1
[database]
connection = sqlite:///{folder}/neutron.sqlite
[ml2]
type_drivers = local
tenant_network_types = local
mechanism_drivers = anywhere
extension_drivers = port_security
[oslo_concurrency]
lock_path = {folder}/locks
[oslo_policy]
policy_file = {folder}/policy.yaml
"""
# What takes the role "service" in earnest; without Keystone nobody has one.
_POLICY = """\
"create_port:binding:profile": "@"
"update_port:binding:profile": "@"
"""
# Who judges and who tells.
_NOBODY = {"auth_type": "admin_token", "token": "admin:ops"}
_METADATA = "Metadata-Version: 2.1\nName: roost-tests\nVersion: 1\n"
_ENTRY_POINTS = """\
[neutron.ml2.mechanism_drivers]
anywhere = neutron_mechanism:AnywhereMechanism
"""


def install(folder):
    """Have Neutron, and tables to copy, in a folder that is kept from run to run."""
    subprocess.run(
        ["sh", str(ROOT / "tools/neutron.sh"), str(folder)],
        env={**os.environ, "PYTHON": sys.executable},
        check=True,
    )


class Neutron:
    """A Neutron of one's own; use it in a ``with`` block.

    :param installed: where ``install`` put it
    :param folder: for its database and log
    :param compute: where it tells of its ports
    :param keystone: who judges tokens, asked as the user ``neutron``; None: nobody does
    """

    def __init__(self, installed, folder, *, port, compute, keystone=None):
        self._installed = installed
        self._folder = folder
        self._keystone = keystone
        self._compute = compute
        self._port = port
        self._process = None
        self.url = f"http://127.0.0.1:{port}"

    def __enter__(self):
        self._prepare()
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [
                    str(self._installed / "venv/bin/python"),
                    "-P",
                    str(ROOT / "tests/outside/neutron_server.py"),
                    str(self._port),
                ],
                env={
                    **os.environ,
                    "PYTHONPATH": str(self._folder / "plug-in"),
                    "OS_NEUTRON_CONFIG_FILES": str(self._folder / "neutron.conf"),
                    "ROOST_UNBINDABLE": str(self._folder / "unbindable"),
                },
                stdout=log,
                stderr=log,
            )
        try:
            wait_until(self._answers, "Neutron answers", timeout=120)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()

    def _prepare(self):
        shutil.copy(self._installed / "template/neutron.sqlite", self._folder)
        (self._folder / "neutron.conf").write_text(self._configuration())
        (self._folder / "policy.yaml").write_text("" if self._keystone else _POLICY)
        plug_in = self._folder / "plug-in"
        described = plug_in / "roost_tests-1.dist-info"
        described.mkdir(parents=True)
        shutil.copy(ROOT / "tests/outside/neutron_mechanism.py", plug_in)
        (described / "METADATA").write_text(_METADATA)
        (described / "entry_points.txt").write_text(_ENTRY_POINTS)
        self.bind_all_but()

    def _configuration(self):
        strategy = "keystone" if self._keystone else "noauth"
        values = {"installed": self._installed, "folder": self._folder, "strategy": strategy}
        made = _CONFIGURATION.format(**values)
        if self._keystone is None:
            return made + section("nova", {**_NOBODY, "endpoint": self._compute})
        return (
            made
            + section("keystone_authtoken", self._keystone.judging("neutron"))
            + section("nova", self._keystone.credentials("neutron"))
        )

    def _ask(self, method, path, **more):
        """Ask as an administrator."""
        headers = {"X-Auth-Token": self._keystone.admin.get_token()} if self._keystone else {}
        return requests.request(
            method, f"{self.url}/v2.0/{path}", headers=headers, timeout=30, **more
        )

    def _answers(self):
        assert self._process.poll() is None, (self._folder / "log").read_text()[-5000:]
        try:
            return requests.get(self.url, timeout=30).ok
        except requests.ConnectionError:
            return False

    def bind_all_but(self, *hosts):
        """Let ports be bound to any host but these."""
        (self._folder / "unbindable").write_text(" ".join(hosts))

    def make(self, kind, **values):
        """Make a thing, and return it as Neutron shows it."""
        name = kind.replace("-", "_")
        answer = self._ask("POST", f"{kind}s", json={name: values})
        assert answer.status_code == 201, answer.text
        return answer.json()[name]

    def show(self, kind, identity):
        """Return a thing, None when it is gone."""
        answer = self._ask("GET", f"{kind}s/{identity}")
        return answer.json()[kind] if answer.ok else None

    def list(self, kind, **query):
        name = kind.replace("-", "_")
        return self._ask("GET", f"{kind}s", params=query).json()[f"{name}s"]

    def delete(self, kind, identity):
        self._ask("DELETE", f"{kind}s/{identity}")

    def limit(self, project, **quota):
        answer = self._ask("PUT", f"quotas/{project}", json={"quota": quota})
        assert answer.ok, answer.text

    def network(self, name, project="admin", *, cidr="10.9.0.0/24", **values):
        """Make a network with one subnet, and return its id."""
        made = self.make("network", name=name, project_id=project, **values)["id"]
        self.make(
            "subnet",
            network_id=made,
            project_id=project,
            ip_version=4,
            cidr=cidr,
            enable_dhcp=False,
            dns_nameservers=["10.9.0.53"],
        )
        return made
