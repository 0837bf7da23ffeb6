"""A running rig as the stories see it: HTTP in front, trouble on demand, audits behind."""

import contextlib
import functools
import json
import time

import requests

from roost import audit, conf
from roost.cells import Cells
from roost.context import admin_context
from roost.db.engine import Database
from roost.rig.client import Client
from roost.rpc.transport import Bus
from roost.scheduler.client import SchedulerClient
from roost.servicegroup.driver import load_group

PATIENCE = 60  # seconds


def wait_until(condition, what, timeout=PATIENCE):
    """Return the first true answer; fail with ``what`` when there is none in time."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        answer = condition()
        if answer:
            return answer
        time.sleep(0.05)
    raise AssertionError(f"not within {timeout} s: {what}")


class Cloud:
    """Wraps a rig, embedded or real: whatever has ``plan``, ``kill`` and ``start_daemon``."""

    def __init__(self, rig):
        self.rig = rig
        self.plan = rig.plan
        self.client = Client(rig.plan.endpoint)
        self.flavor = self._id("m1.tiny", self.client.flavors())
        self._closing = []

    @functools.cached_property
    def image(self):
        """The id of an image, where the rig has the images itself."""
        return self.client.images()[0]["id"]

    def boot(self, name="server", *, count=1, **values):
        """Ask for servers and return their ids."""
        if "imageRef" not in values:
            values["imageRef"] = self.image
        body = {"name": name, "flavorRef": self.flavor, "networks": "none"}
        return self.client.create_servers({"server": body | values}, count=count)

    def show(self, server_id):
        """Return the server, None when it is gone."""
        answer = requests.get(
            f"{self.client.endpoint}/servers/{server_id}",
            headers={"OpenStack-API-Version": "compute 2.90"},
            timeout=30,
        )
        return None if answer.status_code == 404 else answer.json()["server"]

    def wait(self, server_ids, status):
        """Wait until all servers have a status, and return them."""
        settled = ("ACTIVE", "ERROR")

        def look():
            found = [self.show(server_id) for server_id in server_ids]
            for server in found:
                if server and server["status"] in settled and server["status"] != status:
                    raise AssertionError(f"{server['status']}: {server.get('fault')}")
            return found if all(s and s["status"] == status for s in found) else None

        return wait_until(look, f"{status} of {server_ids}")

    def wait_gone(self, server_ids):
        wait_until(
            lambda: not any(self.show(server_id) for server_id in server_ids),
            f"end of {server_ids}",
        )

    @contextlib.contextmanager
    def faults(self, *rules):
        """Trouble for the fake hypervisors, as long as the block lasts."""
        self._write_faults(rules)
        try:
            yield
        finally:
            self._write_faults([])

    @contextlib.contextmanager
    def without(self, daemon):
        """The rig while one daemon is dead."""
        self.rig.kill(daemon)
        try:
            yield
        finally:
            self.rig.start_daemon(daemon)

    def create_flavor(self, **values):
        body = {"name": "x", "ram": 512, "vcpus": 1, "disk": 1} | values
        answer = requests.post(f"{self.client.endpoint}/flavors", json={"flavor": body}, timeout=30)
        answer.raise_for_status()
        return answer.json()["flavor"]["id"]

    def delete_all(self, but=()):
        ids = [server["id"] for server in self.client.servers() if server["id"] not in but]
        for server_id in ids:
            self.client.delete_server(server_id)
        self.wait_gone(ids)

    def audit(self, patience=75):
        """Return what stays wrong, by kind; nothing when all is well, or soon is.

        A conductor with much to do places servers that were deleted meanwhile, and then lets them
        go; a host finds its leftovers when it next compares, and a claim whose release was lost
        ends by itself: within a minute each, as the options say.
        """
        deadline = time.monotonic() + patience
        while (found := self.audit_now()) and time.monotonic() < deadline:
            pass
        return found

    def audit_now(self):
        """Return what is wrong, by kind, once all could be looked at."""

        def whole():
            report = audit.audit(self._collector, settle=1.0)
            return None if report.unchecked else report

        report = wait_until(whole, "all hosts answer")
        return {kind: count for kind, count in report.counts.items() if count}

    def audit_unchecked(self):
        """Return what an audit could not look at."""
        return audit.audit(self._collector, settle=0).unchecked

    def hosts(self):
        """Return what the schedulers know of each host, by its name."""
        return {host.host: host for host in self._scheduler.all_hosts(admin_context())}

    def claims(self):
        """Return what the schedulers have set aside for each server, by its id."""
        claims = self._scheduler.all_claims(admin_context())
        return {claim["instance_uuid"]: claim for claim in claims}

    def claim(self, server_id, spec):
        """Have the schedulers set something aside for a server; return the host."""
        ((chosen, *_),) = self._scheduler.select_destinations(
            admin_context(), request_spec=spec, instance_uuids=[server_id], alternates=0
        )
        return chosen.host

    def release_claim(self, server_id):
        """Take away what the schedulers have set aside for a server."""
        self._scheduler.release_claims(admin_context(), instance_uuids=[server_id])

    def service(self, host):
        """Return what os-services says of the daemon of this name."""
        return next(one for one in self.client.services() if one["host"] == host)

    def change_service(self, host, **changes):
        answer = requests.put(
            f"{self.client.endpoint}/os-services/{self.service(host)['id']}",
            json=changes,
            headers={"OpenStack-API-Version": "compute 2.90"},
            timeout=30,
        )
        answer.raise_for_status()

    @functools.cached_property
    def _settings(self):
        return conf.load([f"--config-file={self.plan.config_file('manage')}"])

    @functools.cached_property
    def _scheduler(self):
        bus = Bus(self._settings, self.plan.bus_url("api"))
        bus.expect_replies()
        self._closing.append(bus)
        return SchedulerClient(bus)

    @functools.cached_property
    def _collector(self):
        api = Database(self.plan.database_url("api"), connections=4)
        cells = Cells(
            api,
            make_database=lambda url: Database(url, connections=4),
            make_bus=lambda url: Bus(self._settings, url),
        )
        group = load_group(self._settings, binary="roost-manage")
        self._closing += [group, api, cells]
        return audit.Collector(api, cells, self._scheduler, group=group)

    def close(self):
        """Let go of the databases and buses that audits look into."""
        for opened in self._closing:
            opened.close()

    def _write_faults(self, rules):
        temporary = self.plan.faults_file.with_suffix(".new")
        temporary.write_text(json.dumps(list(rules)))
        temporary.replace(self.plan.faults_file)

    @staticmethod
    def _id(name, items):
        return next(item["id"] for item in items if item["name"] == name)
