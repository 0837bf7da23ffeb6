"""Two cells and cell0 on SQLite, a fake scheduler, a bus that records."""

import dataclasses

import pytest

from roost.cells import Cells
from roost.conductor.cell.interfaces import Interfaces
from roost.conductor.cell.operations.builds import Builds
from roost.conductor.cell.operations.claims import MoveClaims
from roost.conductor.cell.operations.confirmations import Confirmations
from roost.conductor.cell.operations.delete import NONE, Deletion, ExternalPorts
from roost.conductor.cell.operations.moves import ServerMoves
from roost.conductor.cell.operations.offloads import Offloads
from roost.conductor.cell.operations.outcomes import OperationOutcomes
from roost.conductor.cell.security_groups import HostSecurityGroups
from roost.conductor.cell.sweeper import CellSweeper
from roost.conductor.notifications import ServerNotifications
from roost.conductor.super.boot_service import BootOrder, BootService
from roost.conductor.super.resizes import Resizes
from roost.conductor.super.soft_delete import SoftDeletes
from roost.conductor.super.sweeper import SuperSweeper
from roost.db.api import build_requests, cells, quota
from roost.db.cell import identity, services
from roost.db.cell import models as cell_models
from roost.db.engine import Database
from roost.networks import parse
from roost.objects import CellMapping
from roost.objects.mapping import CELL0_UUID
from roost.rpc.compute import Compute
from tests.builders import CELL1, CELL2, a_context, a_spec, a_wish
from tests.fakes.bus import RecordingBus
from tests.fakes.scheduler import FakeNotifier, FakeScheduler

NO_LIMITS = {"instances": -1, "cores": -1, "ram": -1}


@dataclasses.dataclass
class World:
    api_db: Database
    databases: dict
    buses: dict
    cells: Cells
    scheduler: FakeScheduler
    notifier: FakeNotifier
    boots: BootService
    sweeper: SuperSweeper
    context: object = dataclasses.field(default_factory=a_context)

    @property
    def cell0(self):
        return self.databases[CELL0_UUID]

    @property
    def cell1(self):
        return self.databases[CELL1]

    def build_request(self, count=1, **spec):
        """Do the api's part: wishes, mappings and quota in one transaction."""
        asked = a_spec(num_instances=count, **spec)
        made = [a_wish(asked) for _ in range(count)]
        with self.api_db.begin() as session:
            build_requests.create(session, made, spec=asked)
            quota.take(
                session,
                project_id="project",
                user_id="user",
                instances=count,
                cores=count,
                ram=512 * count,
                defaults=NO_LIMITS,
            )
        return asked.request_uuid, [build_request.instance_uuid for build_request in made]

    def build(self, request):
        self.build_together(request)

    def build_together(self, *requests):
        self.boots.build(*[BootOrder(self.context, *request) for request in requests])

    def casts(self):
        return [sent for bus in self.buses.values() for sent in bus.sent]


@pytest.fixture
def world(api_db, make_database):
    databases = {
        uuid: make_database(name, cell_models.metadata)
        for uuid, name in ((CELL0_UUID, "cell0"), (CELL1, "cell1"), (CELL2, "cell2"))
    }
    buses = {"fake://cell1/": RecordingBus(), "fake://cell2/": RecordingBus()}
    _map_cells(api_db, databases)
    by_url = {database.url: database for database in databases.values()}
    registry = Cells(api_db, make_database=by_url.get, make_bus=buses.get)
    scheduler, notifier = FakeScheduler(), FakeNotifier()
    boots = BootService(
        host="super1",
        database=api_db,
        cells=registry,
        scheduler=scheduler,
        notifier=notifier,
        alternates=2,
        lease_seconds=30,
    )
    soft_deletes = SoftDeletes(api_db, registry, retained_for=0)
    resizes = Resizes(api_db, registry)
    sweeper = SuperSweeper(
        api_db, registry, boots, patience=-1, soft_deletes=soft_deletes, resizes=resizes
    )
    yield World(api_db, databases, buses, registry, scheduler, notifier, boots, sweeper)
    registry.close()


def _map_cells(api_db, databases):
    with api_db.begin() as session:
        for uuid, database in databases.items():
            name = f"cell{list(databases).index(uuid)}"
            url = None if uuid == CELL0_UUID else f"fake://{name}/"
            cells.create(
                session,
                CellMapping(
                    uuid=uuid,
                    name=name,
                    transport_url=url,
                    database_url=database.url,
                    disabled=False,
                ),
            )
            _name(database, uuid, name)
        for host in ("h1", "h2", "h3"):
            cells.map_host(session, host, CELL1)


def _name(database, uuid, name):
    with database.begin() as session:
        identity.set_identity(session, cell_uuid=uuid, cell_name=name)
        services.report(session, host=f"new-{name}", binary="roost-compute")


@dataclasses.dataclass
class CellWorld:
    database: Database
    scheduler: FakeScheduler
    notifier: FakeNotifier
    bus: RecordingBus
    down: set = dataclasses.field(default_factory=set)
    filters: bool = False
    outside_ports: ExternalPorts = NONE
    confirm_seconds: float = 0
    offload_seconds: float = -1
    context: object = dataclasses.field(default_factory=a_context)

    @property
    def interfaces(self):
        return Interfaces(self.database, parse(["private=10.0.0.0/29"]))

    @property
    def builds(self):
        return Builds(
            "conductor1",
            self.database,
            self.scheduler,
            Compute(self.bus),
            ServerNotifications(self.database, self.notifier),
            max_attempts=3,
            seconds=30,
            outside_ports=self.outside_ports,
        )

    @property
    def outcomes(self):
        notifications = ServerNotifications(self.database, self.notifier)
        claims = MoveClaims(self.database, self.scheduler, 3)
        moves = ServerMoves(self.database, claims, seconds=30, lease_seconds=60)
        compute = Compute(self.bus)
        return OperationOutcomes(
            "conductor1",
            self.database,
            self.builds,
            moves,
            self.deletion,
            compute,
            notifications,
        )

    @property
    def deletion(self):
        filterings = HostSecurityGroups(self.database, Compute(self.bus), filters=self.filters)
        return Deletion(self.database, self.scheduler, filterings, self.outside_ports)

    def sweeper(self, *, lease_seconds=-1):
        """A sweeper of this cell, which finds ``down`` to be the hosts that are."""
        return CellSweeper(
            self.database,
            self.outcomes,
            Confirmations(self.database, self.outcomes, self.confirm_seconds),
            Offloads(self.database, self.outcomes, self.offload_seconds),
            surely_down=lambda _hosts: self.down,
            lease_seconds=lease_seconds,
        )

    def sweep(self):
        """Sweep once; leases are over as soon as they begin."""
        self.sweeper().sweep()


@pytest.fixture
def make_cell():
    """Put the parts of a cell-conductor together."""

    def make(database, *, scheduler=None, bus=None, notifier=None):
        bus, notifier = bus or RecordingBus(), notifier or FakeNotifier()
        return CellWorld(
            database=database,
            scheduler=scheduler or FakeScheduler(),
            notifier=notifier,
            bus=bus,
        )

    return make


@pytest.fixture
def cell(cell_db, make_cell):
    return make_cell(cell_db)
