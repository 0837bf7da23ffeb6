"""The rig that is broken, as far as it needs no services."""

import json

import pytest

from roost.compute.virt.fake import faults as driver_faults
from roost.rig.chaos.arena import BallastServers, FaultsFile, RigProcesses
from roost.rig.plan import new_plan


class Api:
    """Keeps flavors and servers."""

    def __init__(self):
        self.made = []
        self.known = [{"id": "other", "name": "storm-1"}]
        self.refusals = []
        self._flavors = []

    def images(self):
        return [{"id": "image", "name": "tiny"}]

    def flavors(self):
        return list(self._flavors)

    def post(self, path, body):
        if path == "/flavors":
            self._flavors.append(body["flavor"])
            return body
        server = body["server"]
        self.made.append(server)
        self.known.append({"id": f"id-{len(self.known)}", "name": server["name"]})
        return {"server": self.known[-1]}

    def servers(self):
        return list(self.known)

    def delete_server(self, identity):
        if self.refusals:
            raise self.refusals.pop()
        self.known = [server for server in self.known if server["id"] != identity]


class Supervisor:
    def __init__(self, log, says):
        self._log, self._says = log, says

    def start_process(self, name):
        with self._log.open("a") as lines:
            lines.write(self._says)


@pytest.fixture
def plan(tmp_path):
    plan = new_plan(tmp_path, cells=1, hosts=1)
    plan.save()
    return plan


def test_a_host_is_filled_with_halving_servers_and_emptied():
    api = Api()
    ballast = BallastServers(api)
    ballast.fill("h1")
    assert {server["host"] for server in api.made} == {"h1"}
    sizes = [flavor["ram"] // 1024 for flavor in api.flavors()]
    assert sizes == [128, 64, 32, 16, 8, 4, 2, 1]
    ballast.fill("h2")
    ballast.empty("h1")
    assert {server["name"].split("-")[1] for server in api.known} == {"1", "h2"}


def test_the_rules_of_all_faults_in_force_are_told(tmp_path):
    path = tmp_path / "faults.json"
    file = FaultsFile(path)
    file.add(1, {"step": "spawn", "kind": "final"})
    file.add(2, {"step": "image", "delay": 1.5})
    assert [rule.step for rule in driver_faults.parse(path.read_text())] == ["spawn", "image"]
    file.remove(1)
    file.remove(1)
    assert [rule["step"] for rule in json.loads(path.read_text())] == ["image"]


@pytest.mark.parametrize("says", ["INFO roost-scheduler serves\n", "INFO port 1 answers\n"])
def test_a_daemon_is_whole_when_it_serves(plan, says):
    log = plan.log_file("scheduler")
    RigProcesses(plan, Supervisor(log, says), patience=600).start_process("scheduler")
    assert log.read_text() == says
