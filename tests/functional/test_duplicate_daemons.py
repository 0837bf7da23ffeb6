"""Two daemons of one name: the cell knows one of them, until an operator says otherwise."""

import json
import shutil
import threading

import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from roost.cmd import _options, compute
from roost.cmd.manage.cli import roost_manage
from roost.db.cell import models
from roost.db.engine import Database
from tests.builders import a_uuid
from tests.functional.embedded import embedded_cloud
from tests.stories.cloud import wait_until

SOON = {
    "DEFAULT": {"service_report_interval": 0.3, "service_down_time": 4.0},
    "compute": {"reconcile_interval": 0.5},
}
MANY = 5


@pytest.fixture
def cloud(tmp_path):
    with embedded_cloud(tmp_path / "rig", cells=1, hosts=1, overrides=SOON) as cloud:
        yield cloud


@pytest.fixture
def host(cloud):
    return cloud.plan.all_hosts[0]


@pytest.fixture
def manage(cloud):
    def manage(*words, code=0):
        files = ["--config-file", str(cloud.plan.config_file("manage"))]
        done = CliRunner().invoke(roost_manage, [*files, *words])
        assert done.exit_code == code, done.output
        return done.output

    return manage


@pytest.fixture
def servers(cloud):
    made = cloud.boot(count=MANY)
    cloud.wait(made, "ACTIVE")
    return made


@pytest.fixture
def twin(cloud, host):
    """Make another roost-compute of the same name, whose state is in a folder of its own."""
    made = []

    def twin(folder):
        files = ["--config-file", str(cloud.plan.config_file(host))]
        conf = _options.read("roost-compute", files)
        conf.set_override("state_path", str(folder))
        made.append(compute.build(conf))
        return made[-1]

    yield twin
    for daemon in made:
        daemon.stop(grace=0)


def statuses(cloud, servers):
    return {cloud.show(uuid)["status"] for uuid in servers}


def state_of(cloud, host):
    (found,) = cloud.plan.state.rglob(f"{host}/identity.json")
    return found.parent


def guests_of(state):
    return {file.stem for file in (state / "guests").glob("*.json")}


def known_state(manage, host):
    """Return whether a host is up, as operators are told."""
    rows = json.loads(manage("service", "list", "--json"))
    (found,) = (row for row in rows if row["host"] == host and row["binary"] == "roost-compute")
    return found["state"]


def in_background(daemon, said):
    threading.Thread(target=daemon.start, args=(said.append,), daemon=True).start()
    return daemon


def test_an_empty_twin_waits_for_a_word_and_servers_come_back_with_their_guests(
    cloud, host, servers, twin, tmp_path, manage
):
    said = []
    new = in_background(twin(tmp_path / "empty"), said)
    wait_until(lambda: any(f"cell replace-host {host}" in line for line in said), "the refusal")
    assert not new.serving
    manage("cell", "replace-host", host, code=1)  # the one before counts as up
    cloud.rig.kill(host)
    manage("cell", "replace-host", host, "--force")
    wait_until(lambda: new.serving, "the new one")
    assert statuses(cloud, servers) == {"ERROR"}
    shutil.copytree(state_of(cloud, host) / "guests", tmp_path / "empty" / host / "guests")
    wait_until(lambda: statuses(cloud, servers) == {"ACTIVE"}, "the servers to be back")
    assert cloud.audit() == {}


def test_a_machine_without_its_disks_is_replaced_by_the_documented_commands(
    cloud, host, servers, twin, tmp_path, manage
):
    former, (rebuilt, *others) = state_of(cloud, host), servers
    cloud.rig._stop(host)
    wait_until(lambda: known_state(manage, host) == "down", "the host to count as down")
    manage("cell", "replace-host", host)
    new = in_background(twin(tmp_path / "new"), [])
    wait_until(lambda: new.serving, "the new one")
    assert known_state(manage, host) == "up"
    assert statuses(cloud, servers) == {"ERROR"}
    said = []
    before = in_background(twin(former.parent), said)
    wait_until(lambda: any("with another state path" in line for line in said), "the refusal")
    cloud.client.post(f"/servers/{rebuilt}/action", {"rebuild": {"imageRef": cloud.image}})
    cloud.wait(cloud.boot("new"), "ACTIVE")
    wait_until(lambda: statuses(cloud, [rebuilt]) == {"ACTIVE"}, "the rebuild")
    for uuid in others:
        cloud.client.delete_server(uuid)
    cloud.wait_gone(others)
    assert cloud.audit() == {}
    assert new.serving
    assert not before.serving
    assert len(guests_of(former)) == MANY
    assert rebuilt in guests_of(tmp_path / "new" / host)


def test_a_host_ends_when_another_has_taken_its_place(cloud, host, servers, caplog):
    before = cloud.rig._daemons[host]
    database = Database(cloud.plan.database_url("cell1"), connections=1)
    with database.begin() as session:
        session.execute(sa.update(models.services).values(state_id=a_uuid()))
    database.close()
    wait_until(lambda: not before.serving, "the end of the one before")
    assert "ends: The cell knows the host" in caplog.text
    before.wait()
    assert statuses(cloud, servers) == {"ACTIVE"}


def test_a_state_path_that_moves_to_another_machine_is_the_same_host(
    cloud, host, servers, twin, tmp_path
):
    with_state = state_of(cloud, host)
    cloud.rig._stop(host)
    shutil.move(with_state, tmp_path / "moved" / with_state.name)
    assert twin(tmp_path / "moved").start()
    assert statuses(cloud, servers) == {"ACTIVE"}
    assert cloud.audit() == {}
