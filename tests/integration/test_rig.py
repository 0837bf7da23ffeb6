"""The rig of real daemons, on RabbitMQ with PostgreSQL and with MariaDB, used as people use it."""

import json
import os
import pathlib
import subprocess
import sys
from urllib.parse import unquote, urlsplit

import pytest
from websockets.sync.client import connect

from roost.compute.virt.fake.console import GREETINGS
from roost.rig.plan import Plan
from roost.rig.services.private import free_port
from tests.parts import second
from tests.stories import least_privilege

BIN = pathlib.Path(sys.executable).parent
BOOTED = 50


class Rig:
    """``roost-rig`` and its fellows, for one folder."""

    def __init__(self, state):
        self.state = state
        self.told = []

    def __call__(self, command, *arguments, fails=False):
        """Run a command of roost-rig and return what it printed."""
        done = self._run("roost-rig", command, "--state", str(self.state), *arguments)
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done.stdout

    def manage(self, *arguments, of="manage"):
        done = self._run("roost-manage", "--config-file", f"{self.state}/etc/{of}.conf", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def openstack(self, *arguments):
        """Run the openstack client and return what it answered."""
        shown = any(word in ("list", "show", "create") for word in arguments)
        form = ["-f", "json"] if shown else []
        done = self._run(
            "openstack", *arguments, *form,
            OS_CLIENT_CONFIG_FILE=f"{self.state}/clouds.yaml", OS_CLOUD="roost-rig",
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return json.loads(done.stdout) if shown else None

    def logs(self):
        return [file.read_text() for file in self.state.glob("log/*.log")]

    def _run(self, program, *arguments, **environment):
        done = subprocess.run(
            [str(BIN / program), *arguments],
            env={**os.environ, **environment},
            capture_output=True,
            text=True,
            timeout=280,
        )
        self.told += [done.stdout, done.stderr]
        return done


@pytest.fixture(scope="module", params=["postgresql", second("mariadb")])
def rig(request, rabbitmq, tmp_path_factory):
    """Two cells of three hosts as real daemons, shared by the tests of this module."""
    database = request.getfixturevalue(request.param)
    made = Rig(tmp_path_factory.mktemp("rig") / "state")
    port = str(free_port())  # another rig may start beside it
    size = ("--cells", "2", "--hosts", "3", "--port", port)
    try:
        urls = ("--bus", rabbitmq.url(""), "--db", database.url(""))
        made("up", *size, *urls, "--consoles", "--set", "DEFAULT.debug=true")
        yield made
    finally:
        made("down", "--if-there")
    assert not made.state.exists()


pytestmark = pytest.mark.timeout(300)


def test_fifty_servers_are_booted_over_both_cells_and_leave_nothing_behind(rig):
    shown = rig("boot", "-n", str(BOOTED))
    assert f"ACTIVE {BOOTED}" in shown
    spread = next(line for line in shown.splitlines() if line.startswith("cells")).split()
    counts = dict(zip(spread[1::2], map(int, spread[2::2]), strict=True))
    assert counts.keys() == {"cell1", "cell2"}
    assert min(counts.values()) > BOOTED / 5
    rig("boot", "--delete-all")
    found = json.loads(rig.manage("audit", "--json"))
    assert set(found["counts"].values()) == {0}


def test_every_daemon_answers(rig):
    shown = rig("status")
    assert shown.count("running") == 12
    assert shown.count(" ms ") == 12


def test_a_killed_daemon_is_told_and_can_be_started_again(rig):
    rig("kill", "scheduler")
    assert "scheduler" in rig("status", fails=True)
    rig("start", "scheduler")
    assert "ACTIVE 2" in rig("boot", "-n", "2", "--timeout", "60")
    rig("boot", "--delete-all")


def check_console(url):
    """Make sure that the URL of a console leads to a guest."""
    root, _, query = url.partition("/vnc_lite.html?path=")
    place = f"{root.replace('http', 'ws')}/{unquote(query)}"
    with connect(place, subprotocols=["binary"], origin=root) as browser:
        assert browser.recv(timeout=10) == GREETINGS["vnc"]


def test_the_openstack_client_manages_servers_and_opens_their_consoles(rig):
    made = rig.openstack(
        "server", "create", "--flavor", "m1.tiny", "--image", "tiny", "--nic", "auto",
        "--wait", "mine",
    )  # fmt: skip
    assert made["status"] == "ACTIVE"
    assert [each["Name"] for each in rig.openstack("server", "list")] == ["mine"]
    assert rig.openstack("server", "show", "mine")["id"] == made["id"]
    check_console(rig.openstack("console", "url", "show", "mine")["url"])
    rig.openstack("server", "delete", "--wait", "mine")
    assert rig.openstack("server", "list") == []


def test_the_openstack_client_manages_flavors(rig):
    size = ["--ram", "256", "--disk", "1", "--vcpus", "1"]
    assert rig.openstack("flavor", "create", *size, "nano")["ram"] == 256
    assert "nano" in [each["Name"] for each in rig.openstack("flavor", "list")]
    assert rig.openstack("flavor", "show", "nano")["vcpus"] == 1
    rig.openstack("flavor", "delete", "nano")
    assert "nano" not in [each["Name"] for each in rig.openstack("flavor", "list")]


@pytest.mark.parametrize(
    "check",
    [
        least_privilege.check_buses,
        least_privilege.check_hosts,
        least_privilege.check_api_level,
        least_privilege.check_databases,
        least_privilege.check_files,
    ],
)
def test_daemons_have_no_more_rights_than_they_need(rig, check):
    check(Plan.load(rig.state))


def test_the_owner_upgrades_the_schemas(rig):
    cell1 = Plan.load(rig.state).database_url("cell1")
    rig.manage("db", "sync", of="owner")
    rig.manage("db", "sync", "cell", "--database-url", cell1, of="owner")


def test_neither_logs_nor_commands_tell_passwords(rig, rabbitmq):
    plan = Plan.load(rig.state)
    secrets = [*plan.bus_secrets.values(), *plan.database_secrets.values()]
    ours = urlsplit(rabbitmq.url("")).netloc.split("@")[0]
    rig.manage("cell", "list")
    logs = rig.logs()
    assert (len(logs), len(secrets)) == (12, 13)
    told = [*logs, *rig.told]
    assert [
        text[:300] for text in told for secret in (f"{ours}@", *secrets) if secret in text
    ] == []
