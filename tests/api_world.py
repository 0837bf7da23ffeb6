"""The whole API in this process: two cells and cell0 on SQLite, buses that record."""

import contextlib
import dataclasses
from concurrent import futures

import falcon.testing
import pytest
import sqlalchemy as sa

from roost import conf
from roost.api.app import make_app
from roost.api.parts import Options, Parts
from roost.api.policy import Policy
from roost.cells import Cells
from roost.db.api import build_requests, cells, flavors, instance_mappings, quota
from roost.db.cell import instances, services
from roost.db.cell import models as cell_models
from roost.db.engine import Database
from roost.networks import LocalNetwork
from roost.objects import CellMapping
from roost.objects.mapping import CELL0_UUID
from roost.rpc.super_conductor import SuperConductor
from tests.builders import CELL1, CELL2, a_flavor, a_report, a_spec, a_wish, an_image, an_instance
from tests.fakes.bus import RecordingBus
from tests.fakes.images import FakeImageStore
from tests.fakes.scheduler_hosts import FakeSchedulerHosts

IMAGE = "cccccccc-cccc-4ccc-8ccc-cccccccccccc"
PRIVATE = LocalNetwork(name="private", cidr="10.0.0.0/24")
ALICE = "alice:project"
ADMIN = "admin:ops"


class Client(falcon.testing.TestClient):
    """Asks as somebody, in a microversion."""

    def ask(self, method, path, *, version="2.1", token=ADMIN, **more):
        headers = {"X-Auth-Token": token, "OpenStack-API-Version": f"compute {version}"}
        return self.simulate_request(
            method, path, headers=headers | more.pop("headers", {}), **more
        )

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def post(self, path, body, **more):
        return self.ask("POST", path, json=body, **more)

    def put(self, path, body, **more):
        return self.ask("PUT", path, json=body, **more)

    def delete(self, path, **more):
        return self.ask("DELETE", path, **more)


@dataclasses.dataclass
class World:
    client: Client
    api_db: Database
    databases: dict
    api_bus: RecordingBus
    buses: dict
    scheduler: FakeSchedulerHosts
    images: FakeImageStore
    parts: Parts

    def place(self, cell_uuid=CELL1, **values):
        """Put an instance into a cell, mapped as a super-conductor does it."""
        instance = an_instance(**values)
        if cell_uuid is not None:
            with self.databases[cell_uuid].begin() as session:
                instances.create(session, instance)
        spec = a_spec(project_id=instance.project_id)
        with self.api_db.begin() as session:
            wish = a_wish(spec, instance=instance, created_at=instance.created_at)
            build_requests.create(session, [wish], spec=spec)
            if cell_uuid is not None:
                build_requests.forget(session, instance.uuid)
                instance_mappings.place(session, instance.uuid, cell_uuid)
        return instance

    def wish(self, **values):
        return self.place(None, **values)

    def instance(self, uuid, cell_uuid=CELL1):
        with self.databases[cell_uuid].read() as session:
            return instances.find(session, uuid, deleted=True)

    def mapping(self, uuid):
        with self.api_db.read() as session:
            return instance_mappings.find(session, uuid)

    def usage(self, project="project"):
        with self.api_db.read() as session:
            return quota.usage(session, project)


@pytest.fixture
def options():
    return Options(max_limit=5)


@pytest.fixture
def world(api_db, make_database, options):
    databases = {
        uuid: make_database(name, cell_models.metadata)
        for uuid, name in ((CELL0_UUID, "cell0"), (CELL1, "cell1"), (CELL2, "cell2"))
    }
    buses = {"fake://cell1/": RecordingBus(), "fake://cell2/": RecordingBus()}
    _fill(api_db, databases)
    by_url = {database.url: database for database in databases.values()}
    api_bus, images = RecordingBus(), FakeImageStore(an_image(id=IMAGE, name="tiny"))
    scheduler = FakeSchedulerHosts(a_report("h1"), a_report("h2", availability_zone="east"))
    policy = Policy(conf.of({}))
    with futures.ThreadPoolExecutor(8) as executor:
        parts = Parts(
            api_database=api_db,
            cells=Cells(api_db, make_database=by_url.get, make_bus=buses.get),
            super_conductor=SuperConductor(api_bus),
            scheduler=scheduler,
            images=images,
            networks=[PRIVATE],
            policy=policy,
            executor=executor,
            options=options,
        )
        client = Client(make_app(parts))
        yield World(client, api_db, databases, api_bus, buses, scheduler, images, parts)


@pytest.fixture
def client(world):
    return world.client


def _fill(api_db, databases):
    with api_db.begin() as session:
        for number, (uuid, database) in enumerate(databases.items()):
            cells.create(
                session,
                CellMapping(
                    uuid=uuid,
                    name=f"cell{number}",
                    transport_url=f"fake://cell{number}/" if number else None,
                    database_url=database.url,
                    disabled=False,
                ),
            )
        cells.map_host(session, "h1", CELL1)
        cells.map_host(session, "h2", CELL2)
        flavors.create(session, a_flavor(flavorid="1", name="m1.tiny"))
    for uuid, host in ((CELL1, "h1"), (CELL2, "h2")):
        with databases[uuid].begin() as session:
            services.report(session, host=host, binary="roost-compute", availability_zone="nova")


@dataclasses.dataclass
class Counted:
    seen: list

    @property
    def count(self):
        return len(self.seen)


@contextlib.contextmanager
def count_statements(world):
    """Count the statements that any database gets within the block."""
    counted = Counted([])
    engines = [database.engine for database in (world.api_db, *world.databases.values())]

    def note(_connection, _cursor, statement, *_more):
        if statement.split()[0] in ("SELECT", "INSERT", "UPDATE", "DELETE"):
            counted.seen.append(statement)

    for engine in engines:
        sa.event.listen(engine, "before_cursor_execute", note)
    try:
        yield counted
    finally:
        for engine in engines:
            sa.event.remove(engine, "before_cursor_execute", note)
