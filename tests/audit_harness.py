"""Servers in two cells, with all that audits compare: databases, claims, ports and guests."""

import datetime

from roost import audit, conf, states
from roost.audit.executor import RepairExecutor
from roost.cells import Cells
from roost.db.api import build_requests, instance_mappings, quota
from roost.db.api import cells as cell_rows
from roost.db.cell import instances, services
from roost.db.cell import models as cell_models
from roost.db.scheduler import models as scheduler_models
from roost.external.neutron_ports import LeftoverPorts
from roost.objects import CellMapping
from roost.objects.mapping import CELL0_UUID
from roost.scheduler import plugins
from roost.scheduler.client import SchedulerClient
from roost.scheduler.manager import SchedulerManager
from roost.servicegroup.db import DatabaseGroup
from tests.builders import CELL1, CELL2, NOW, a_context, a_report, a_spec, a_uuid, a_wish
from tests.fakes.neutron import FakeNetwork

UNLIMITED = {"instances": -1, "cores": -1, "ram": -1}
SIZES = {"instances": 1, "cores": 1, "ram": 512}
AN_HOUR = datetime.timedelta(hours=1)


class Schedulers(SchedulerManager):
    """A scheduler in this process, asked as its client asks."""

    all_claims = SchedulerClient.all_claims

    def check(self, context):
        pass


class Hypervisors:
    """Guests of the hosts of a cell, which destroy what is not theirs when they are told to look.

    As ``roost-compute`` does: it knows what its cell says.
    """

    def __init__(self, database):
        self.database = database
        self.guests = {}

    def on(self, host):
        return Hypervisor(self, host)


class Hypervisor:
    def __init__(self, cell, host):
        self.cell, self.host = cell, host

    def list_guests(self, context):
        return sorted(self.cell.guests.get(self.host, ()))

    def reconcile_guests(self, context):
        with self.cell.database.begin() as session:
            here = {one.uuid for one in instances.list_on_host(session, self.host)}
            self.cell.guests[self.host] &= here
            for uuid in here - self.cell.guests[self.host]:
                lost = {"vm_state": states.ERROR}
                instances.update(session, uuid, lost, expected={"host": self.host})


class World:
    """Two cells of a host each, with three servers on each."""

    def __init__(self, api_db, make_database):
        self.api_db = api_db
        names = {CELL0_UUID: "cell0", CELL1: "cell1", CELL2: "cell2"}
        self.databases = {
            uuid: make_database(name, cell_models.metadata) for uuid, name in names.items()
        }
        self.books = make_database("scheduler", scheduler_models.metadata)
        self.schedulers = Schedulers(
            self.books, driver=plugins.load_driver(conf.of({}).scheduler), clock=lambda: NOW
        )
        by_url = {database.url: database for database in self.databases.values()}
        for uuid, name in names.items():
            self.map_cell(uuid, name)
        self.cells = Cells(api_db, make_database=by_url.get, make_bus=lambda url: None)
        self.neutron = FakeNetwork()
        self.guests = {}
        for uuid in (CELL1, CELL2):
            self.open_cell(uuid)
        self.servers = [self.boot(host) for host in ("h1", "h1", "h1", "h2", "h2", "h2")]

    def map_cell(self, uuid, name):
        url = None if uuid == CELL0_UUID else f"fake://{name}/"
        mapping = CellMapping.of(
            uuid=uuid,
            name=name,
            transport_url=url,
            database_url=self.databases[uuid].url,
            disabled=False,
        )
        with self.api_db.begin() as session:
            cell_rows.create(session, mapping)

    def open_cell(self, uuid):
        host = {CELL1: "h1", CELL2: "h2"}[uuid]
        hypervisors = Hypervisors(self.databases[uuid])
        hypervisors.guests[host] = set()
        self.cells.get(uuid).__dict__["compute"] = hypervisors
        self.guests[host] = hypervisors.guests
        with self.databases[uuid].begin() as session:
            services.report(session, host=host, binary="roost-compute")
        report = a_report(host, cell_uuid=uuid)
        self.schedulers.update_resource_stats(a_context(), report=report)

    def boot(self, host):
        """Make a server the way a boot does, without its messages."""
        cell_uuid = {"h1": CELL1, "h2": CELL2}[host]
        spec = a_spec(requested_host=host)
        build_request = a_wish(spec)
        uuid = build_request.instance_uuid
        with self.api_db.begin() as session:
            quota.take(session, project_id="project", user_id="user", defaults=UNLIMITED, **SIZES)
            build_requests.create(session, [build_request], spec=spec)
        self.schedulers.select_destinations(
            a_context(), request_spec=spec, instance_uuids=[uuid], alternates=0
        )
        instance = build_request.instance
        instance.host = instance.node = host
        instance.vm_state, instance.task_state = states.ACTIVE, None
        with self.databases[cell_uuid].begin() as session:
            instances.create(session, instance)
        with self.api_db.begin() as session:
            build_requests.forget(session, uuid)
            instance_mappings.map_to_cell(session, uuid, cell_uuid)
        self.guests[host][host].add(uuid)
        return uuid

    def end(self, uuid, host):
        """Delete a server the way daemons do."""
        with self.api_db.begin() as session:
            instance_mappings.queue_for_delete(session, uuid)
        self.guests[host][host].discard(uuid)
        self.schedulers.release_claims(a_context(), instance_uuids=[uuid])
        with self.databases[{"h1": CELL1, "h2": CELL2}[host]].begin() as session:
            instances.mark_deleted(session, uuid)
        with self.api_db.begin() as session:
            instance_mappings.forget(session, uuid)

    def audit(self):
        report = audit.audit(self.collector, settle=0)
        assert report.unchecked == []
        return report

    @property
    def collector(self):
        group = DatabaseGroup(down_time=600)
        return audit.Collector(
            self.api_db,
            self.cells,
            self.schedulers,
            group=group,
            outside_ports=LeftoverPorts(self.neutron),
        )

    def found(self):
        return sorted({finding.kind for finding in self.audit().findings})

    def repair(self):
        """Repair once, and what was planned once more: every repair may be repeated."""
        report = self.audit()
        plan = audit.plan(report.findings, report.snapshot)
        outcomes = list(self.mender.carry_out(plan))
        list(self.mender.carry_out(plan))
        return outcomes

    @property
    def mender(self):
        ports = LeftoverPorts(self.neutron)
        return RepairExecutor(self.api_db, self.cells, self.schedulers, outside_ports=ports)

    def plug(self, uuid, *, made=True):
        """Let Neutron have a port of a server; ``made`` None: it bears no mark."""
        network = self.neutron.a_network(a_uuid())
        return self.neutron.create_port(
            network_id=network.id,
            device_id=uuid,
            device_owner="compute:nova",
            binding_host_id="h1",
            binding_profile={} if made is None else {"roost": {"position": 0, "made": made}},
        ).id

    def cell_of(self, uuid):
        return CELL1 if self.servers.index(uuid) < 3 else CELL2

    def write(self, statement, database=None):
        with (database or self.api_db).begin() as session:
            session.execute(statement)
