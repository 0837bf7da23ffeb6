"""Every daemon of Roost in its own process: it says when it serves, and ends when it is told to."""

import time

import pytest
import requests

import roost.conf
from roost import migrations
from roost.context import admin_context
from roost.db.cell import identity
from roost.db.engine import Database
from roost.rpc.compute import Compute
from roost.rpc.transport import Bus
from roost.scheduler.client import SchedulerClient
from tests.builders import CELL1
from tests.fakes.processes import DaemonProcess

DAEMONS = [
    "roost-scheduler",
    "roost-super-conductor",
    "roost-cell-conductor",
    "roost-conductor",
    "roost-compute",
    "roost-api",
]


@pytest.fixture
def databases(tmp_path):
    databases = {}
    for schema in migrations.SCHEMAS:
        databases[schema] = Database(f"sqlite:///{tmp_path}/{schema}.sqlite")
        migrations.sync(databases[schema], schema)
    with databases["cell"].begin() as session:
        identity.set_identity(session, cell_uuid=CELL1, cell_name="cell1")
    yield databases
    for database in databases.values():
        database.close()


@pytest.fixture
def config(tmp_path, mode, port, databases, rabbitmq_url):
    lines = [
        "[DEFAULT]",
        f"concurrency = {mode}",
        "host = here",
        f"state_path = {tmp_path}",
        f"transport_url = {rabbitmq_url}",
        "[api]",
        f"port = {port}",
        "auth_strategy = noauth",
    ]
    for schema, database in databases.items():
        lines += [f"[{schema}_database]", f"connection = {database.url}"]
    path = tmp_path / "roost.conf"
    path.write_text("\n".join(lines))
    return path


@pytest.fixture
def cloud(tmp_path, config):
    """All daemons, serving."""
    daemons = [DaemonProcess(name, config, tmp_path / f"{name}.log") for name in DAEMONS]
    for daemon in daemons:
        daemon.manager.wait_for("READY=1")
    yield daemons
    for daemon in daemons:
        daemon.end()


@pytest.fixture
def bus(rabbitmq_url):
    bus = Bus(roost.conf.of({}), rabbitmq_url)
    yield bus
    bus.close()


def hosts(bus):
    """Return the hosts that the scheduler knows, once it knows one."""
    scheduler = SchedulerClient(bus)
    deadline = time.monotonic() + 20
    while not (known := scheduler.list_hosts(admin_context())):
        assert time.monotonic() < deadline, "the scheduler hears of no host"
        time.sleep(0.1)
    return [report.host for report in known]


def test_all_serve_and_all_end_with_0(cloud, bus, port):
    assert Compute(bus).on("here").list_guests(admin_context()) == []
    assert hosts(bus) == ["here"]
    assert requests.get(f"http://127.0.0.1:{port}/", timeout=10).ok
    for daemon in cloud:
        daemon.terminate()
    assert {daemon.log_file.stem: daemon.exit_status() for daemon in cloud} == dict.fromkeys(
        DAEMONS, 0
    )
    for daemon in cloud:
        assert "Traceback" not in daemon.log
