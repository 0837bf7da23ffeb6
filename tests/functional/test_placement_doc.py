"""What doc/placement.rst shows is what the commands say.

Run once with ROOST_ACCEPT=1 in the environment, the examples are written anew.
"""

import datetime
import os
import pathlib
import types
import uuid

import pytest
from click.testing import CliRunner

from roost import conf, migrations
from roost.cmd.manage.cli import roost_manage
from roost.db.api import aggregates, cells
from roost.db.engine import Database
from roost.rpc.scheduler import Scheduler
from roost.rpc.transport import Bus
from roost.scheduler import plugins
from roost.scheduler.manager import SchedulerManager
from tests.builders import a_context, a_flavor, a_report, a_spec

EXAMPLES = pathlib.Path(__file__).parents[2] / "doc" / "examples" / "placement"
THEN = datetime.datetime(2026, 11, 3, 8, 30, tzinfo=datetime.UTC)
NAMES = ("api", "scheduler", "cell0", "cell1", "cell2")
LEAKED, LOST = (f"{letter * 8}-0000-4000-8000-000000000000" for letter in "ab")
BUILT = [f"00000000-0000-4000-8000-00000000000{number}" for number in (1, 2)]
FLAVOR = a_flavor(name="m1.large", vcpus=4, memory_mb=8192, root_gb=80)


def shown(name, command, output):
    """Compare with an example of the documentation."""
    path = EXAMPLES / f"{name}.txt"
    found = f"# roost-manage {command}\n{output}"
    if os.environ.get("ROOST_ACCEPT"):
        path.write_text(found)
    assert found == path.read_text()


@pytest.fixture
def databases(tmp_path):
    made = {name: Database(f"sqlite:///{tmp_path}/{name}.sqlite") for name in NAMES}
    schemas = {"api": migrations.API, "scheduler": migrations.SCHEDULER}
    for name, database in made.items():
        migrations.sync(database, schemas.get(name, migrations.CELL))
    yield types.SimpleNamespace(**made)
    for database in made.values():
        database.close()


@pytest.fixture
def bus_url():
    return f"fake:///{uuid.uuid4().hex}"


@pytest.fixture
def manage(tmp_path, databases, bus_url):
    """Run roost-manage, and return what it says."""
    config = tmp_path / "roost.conf"
    config.write_text(
        f"[DEFAULT]\ntransport_url = {bus_url}\n[api_database]\nconnection = {databases.api.url}\n"
    )

    def run(command, code=0):
        result = CliRunner().invoke(roost_manage, ["--config-file", str(config), *command.split()])
        assert result.exit_code == code, result.output
        return result.stdout

    run(f"cell map-cell0 --database-url {databases.cell0.url}")
    for name in ("cell1", "cell2"):
        url = getattr(databases, name).url
        run(f"cell create --name {name} --transport-url fake:///{name} --database-url {url}")
    return run


@pytest.fixture
def now():
    """What time the scheduler has, in a list to change it."""
    return [THEN]


@pytest.fixture
def scheduler(databases, bus_url, now):
    """A scheduler whose clock stands."""
    options = conf.of({})
    bus = Bus(options, bus_url)
    driver = plugins.load_driver(options.scheduler)
    manager = SchedulerManager(databases.scheduler, driver=driver, clock=lambda: now[0])
    server = bus.server(Scheduler, manager, "one")
    server.start()
    yield manager
    server.stop()
    server.wait()
    bus.close()


@pytest.fixture
def cloud(manage, databases, scheduler):
    """Two cells of three hosts; the second cell is the zone east; flavors of two sizes."""
    manage("flavor create m1.large --vcpus 4 --ram 8192 --disk 80")
    manage("flavor create m1.huge --vcpus 64 --ram 196608 --disk 80")
    with databases.api.begin() as session:
        uuids = {mapping.name: mapping.uuid for mapping in cells.list_cells(session)}
        east = aggregates.create(session, "east", metadata={"availability_zone": "east"})
        for number in (4, 5, 6):
            east = aggregates.add_host(session, east.id, f"node-{number}").aggregate
    for number in range(1, 7):
        name = "cell1" if number < 4 else "cell2"
        values = {
            "cell_uuid": uuids[name],
            "enabled": number != 6,
            "vcpus": 192,
            "memory_mb": 131072 if number < 5 else 262144,
            "memory_mb_reserved": 2048,
            "disk_gb": 4000,
            "reported_at": THEN,
        }
        scheduler.update_resource_stats(a_context(), report=a_report(f"node-{number}", **values))
    scheduler.update_aggregates(a_context(), aggregates=[east])
    return scheduler


def claim(scheduler, host, *uuids, flavor=FLAVOR):
    spec = a_spec(flavor=flavor, requested_host=host, project_id="demo")
    scheduler.select_destinations(
        a_context(), request_spec=spec, instance_uuids=list(uuids), alternates=0
    )


def test_why_a_request_cannot_fit(manage, cloud):
    busy = a_flavor(vcpus=150, memory_mb=81920, root_gb=500)
    claim(cloud, "node-5", BUILT[0], flavor=busy)
    command = "placement explain --flavor m1.huge --zone east"
    shown("refused", command, manage(command, code=1))


def test_where_servers_would_go(manage, cloud):
    claim(cloud, "node-1", BUILT[0])
    command = "placement explain --flavor m1.large --zone nova --count 4"
    shown("placed", command, manage(command))


def test_hosts_and_claims(manage, cloud):
    claim(cloud, "node-1", *BUILT)
    shown("hosts", "placement hosts", manage("placement hosts"))
    shown("claims", "placement claims --host node-1", manage("placement claims --host node-1"))
    shown("usage", "placement usage --host node-1", manage("placement usage --host node-1"))
