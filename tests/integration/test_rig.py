"""The rig of real daemons, as people use it: on RabbitMQ, with PostgreSQL or MariaDB.

One rig does for all: what boots, dies and comes back on it is told by stories, those that real
processes, buses and databases may end differently; functional tests tell all of them.
"""

import json
import pathlib
import subprocess
import sys
from urllib.parse import unquote, urlsplit

import openstack
import pytest
from websockets.sync.client import connect

from roost.compute.virt.fake.console import GREETINGS
from roost.rig.plan import Plan
from roost.rig.services.private import free_port
from tests.parts import second
from tests.stories import least_privilege
from tests.stories.boots import (
    clean_slate,
    test_a_build_that_fails_on_one_host_goes_on_to_another,
    test_a_server_deleted_while_it_is_rescheduled_leaves_nothing,
    test_a_wish_that_nobody_hears_of_is_built_when_the_conductor_is_back,
    test_servers_deleted_at_any_moment_leave_nothing,
    test_the_history_of_a_boot_names_every_daemon,
)
from tests.stories.cloud import Cloud
from tests.stories.killed_daemons import (
    test_a_build_goes_on_when_its_host_is_killed_and_comes_back_at_once,
    test_a_conductor_killed_over_its_reschedules_loses_none,
    test_a_host_that_stood_still_while_it_spawned_leaves_one_guest_of_each_server,
    victim,
)
from tests.stories.liveness import (
    test_a_cell_without_conductors_gets_no_servers_until_one_is_back,
    test_a_host_that_died_gets_no_servers_until_it_is_back,
)
from tests.stories.moves import (
    test_a_server_moves_to_another_host_and_stays_there_once_confirmed,
    test_reverted_it_is_where_and_what_it_was,
)
from tests.stories.quota_and_audit import (
    api_database,
    endpoints,
    limited,
    test_a_quota_is_exact_over_several_api_processes,
    test_damage_is_put_right_while_all_runs,
)
from tests.stories.real_rig import QUICK, Daemons
from tests.stories.recovery import (
    test_what_a_dead_host_was_at_ends_without_it_and_leaves_nothing_there,
)
from tests.stories.server_groups import group, test_boots_at_once_never_break_anti_affinity

__all__ = [
    "api_database",
    "clean_slate",
    "endpoints",
    "group",
    "limited",
    "test_a_build_goes_on_when_its_host_is_killed_and_comes_back_at_once",
    "test_a_build_that_fails_on_one_host_goes_on_to_another",
    "test_a_cell_without_conductors_gets_no_servers_until_one_is_back",
    "test_a_conductor_killed_over_its_reschedules_loses_none",
    "test_a_host_that_died_gets_no_servers_until_it_is_back",
    "test_a_host_that_stood_still_while_it_spawned_leaves_one_guest_of_each_server",
    "test_a_quota_is_exact_over_several_api_processes",
    "test_a_server_deleted_while_it_is_rescheduled_leaves_nothing",
    "test_a_server_moves_to_another_host_and_stays_there_once_confirmed",
    "test_a_wish_that_nobody_hears_of_is_built_when_the_conductor_is_back",
    "test_boots_at_once_never_break_anti_affinity",
    "test_damage_is_put_right_while_all_runs",
    "test_reverted_it_is_where_and_what_it_was",
    "test_servers_deleted_at_any_moment_leave_nothing",
    "test_the_history_of_a_boot_names_every_daemon",
    "test_what_a_dead_host_was_at_ends_without_it_and_leaves_nothing_there",
    "victim",
]
BIN = pathlib.Path(sys.executable).parent
BOOTED = 20
# Who dies is soon known to be dead, and who lives on a busy machine is not taken for dead.
SOON = {
    "DEFAULT": {"debug": "true", "service_report_interval": 1.0, "service_down_time": 10.0},
    "conductor": QUICK["conductor"],
}
pytestmark = [
    pytest.mark.timeout(300),
    # openstacksdk warns of what it does itself
    pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning"),
    pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK60Warning"),
    pytest.mark.filterwarnings("ignore:The _compute_attributes method"),
]


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

    def logs(self):
        return [file.read_text() for file in self.state.glob("log/*.log")]

    def _run(self, program, *arguments):
        done = subprocess.run(
            [str(BIN / program), *arguments],
            capture_output=True,
            text=True,
            timeout=280,
        )
        self.told += [done.stdout, done.stderr]
        return done


@pytest.fixture(
    scope="module",
    params=[("threading", "postgresql", "db"), second(("eventlet", "mariadb", "tooz"))],
    ids="-".join,
)
def rig(request, rabbitmq, tmp_path_factory):
    """Two cells of three hosts: twelve daemons that have to start, which takes longest here."""
    mode, kind, driver = request.param
    database, groups = request.getfixturevalue(kind), {"driver": driver}
    if driver == "tooz":
        groups["url"] = request.getfixturevalue("redis").url()
    made = Rig(tmp_path_factory.mktemp("rig") / "state")
    port = str(free_port())  # another rig may start beside it
    size = ("--cells", "2", "--hosts", "3", "--port", port, "--concurrency", mode)
    told = [
        word
        for name, options in (SOON | {"servicegroup": groups}).items()
        for option, value in options.items()
        for word in ("--set", f"{name}.{option}={value}")
    ]
    try:
        urls = ("--bus", rabbitmq.url(""), "--db", database.url(""))
        made("up", *size, *urls, "--consoles", *told)
        yield made
    finally:
        made("down", "--if-there")
    assert not made.state.exists()


@pytest.fixture(scope="module")
def cloud(rig):
    cloud = Cloud(Daemons(Plan.load(rig.state)))
    yield cloud
    cloud.close()


def test_twenty_servers_are_booted_over_both_cells_and_leave_nothing_behind(rig):
    shown = rig("boot", "-n", str(BOOTED))
    assert f"ACTIVE {BOOTED}" in shown
    spread = next(line for line in shown.splitlines() if line.startswith("cells")).split()
    counts = dict(zip(spread[1::2], map(int, spread[2::2]), strict=True))
    assert counts.keys() == {"cell1", "cell2"}
    assert min(counts.values()) > BOOTED / 5
    rig("boot", "--delete-all")
    found = json.loads(rig.manage("audit", "--json"))
    assert set(found["counts"].values()) == {0}


def test_every_daemon_answers_and_one_that_is_killed_is_told_and_can_be_started_again(rig):
    shown = rig("status")
    assert shown.count("running") == shown.count(" ms ") == 12
    rig("kill", "scheduler")
    assert "scheduler" in rig("status", fails=True)
    rig("start", "scheduler")
    assert "ACTIVE 2" in rig("boot", "-n", "2", "--timeout", "60")


def check_console(url):
    """Make sure that the URL of a console leads to a guest."""
    root, _, query = url.partition("/vnc_lite.html?path=")
    place = f"{root.replace('http', 'ws')}/{unquote(query)}"
    with connect(place, subprotocols=["binary"], origin=root) as browser:
        assert browser.recv(timeout=10) == GREETINGS["vnc"]


def test_the_sdk_finds_the_rig_and_opens_the_console_of_a_server(rig, cloud):
    (uuid,) = cloud.boot()
    cloud.wait([uuid], "ACTIVE")
    config = openstack.config.OpenStackConfig(config_files=[str(rig.state / "clouds.yaml")])
    with openstack.connection.Connection(config=config.get_one("roost-rig")) as sdk:
        made = sdk.compute.create_server_remote_console(uuid, protocol="vnc", type="novnc")
    check_console(made.url)


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
