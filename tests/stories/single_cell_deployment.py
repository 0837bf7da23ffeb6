"""A deployment of one cell, laid by hand as doc/deploy.rst says, with roost-conductor."""

import json
import pathlib
import subprocess
import sys

import requests

from roost.rig.client import Client
from tests.fakes.processes import DaemonProcess

BIN = pathlib.Path(sys.executable).parent
DAEMONS = ["roost-scheduler", "roost-conductor", "roost-compute", "roost-api"]


class Site:
    """One machine with all daemons, one bus, and an SQLite file per database.

    :param more: options, as lines of the file
    """

    def __init__(self, folder, *, mode, port, bus, more=""):
        self.folder = folder
        self.bus = bus
        self.client = Client(f"http://127.0.0.1:{port}/v2.1")
        self.config = folder / "roost.conf"
        self.config.write_text(self._options(mode, port) + more)
        self._daemons = []

    def database(self, name):
        return f"sqlite:///{self.folder}/{name}.sqlite"

    def manage(self, *arguments):
        """Run roost-manage, which must succeed, and return its answer (of JSON if asked for)."""
        command = [str(BIN / "roost-manage"), "--config-file", str(self.config), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout) if "--json" in arguments else done.stdout

    def lay(self):
        for schema in ("api", "scheduler"):
            self.manage("db", "sync", schema)
        for cell in ("cell0", "cell1"):
            self.manage("db", "sync", "cell", "--database-url", self.database(cell))
        self.manage("cell", "map-cell0", "--database-url", self.database("cell0"))
        urls = ("--transport-url", self.bus, "--database-url", self.database("cell1"))
        self.manage("cell", "create", "--name", "cell1", *urls)

    def start(self):
        for name in DAEMONS:
            self._daemons.append(DaemonProcess(name, self.config, self.folder / f"{name}.log"))
        for daemon in self._daemons:
            daemon.manager.wait_for("READY=1")

    def end(self):
        for daemon in self._daemons:
            daemon.end()

    def boot(self):
        return self.boot_like(self.offer())

    def offer(self):
        """Make a flavor and an image, and return the body of a request that wants them."""
        size = ("--vcpus", "1", "--ram", "64")
        flavor = self.manage("flavor", "create", "small", *size, "--json")
        image = self.manage("image", "add", "any", str(self.config), "--json")
        refs = {"flavorRef": flavor["id"], "imageRef": image["id"]}
        return {"server": {"name": "s", "networks": "auto", **refs}}

    def boot_like(self, body):
        (uuid,) = self.client.create_servers(body)
        return uuid

    def status(self, uuid):
        """Return the status of a server, None when it is gone."""
        answer = requests.get(f"{self.client.endpoint}/servers/{uuid}", timeout=30)
        return None if answer.status_code == 404 else answer.json()["server"]["status"]

    def _options(self, mode, port):
        return "\n".join(
            [
                "[DEFAULT]",
                f"concurrency = {mode}",
                "host = here",
                f"state_path = {self.folder}",
                f"transport_url = {self.bus}",
                f"[api]\nport = {port}\nauth_strategy = noauth",
                f"[api_database]\nconnection = {self.database('api')}",
                f"[scheduler_database]\nconnection = {self.database('scheduler')}",
                f"[cell_database]\nconnection = {self.database('cell1')}",
            ]
        )
