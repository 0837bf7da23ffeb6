"""Who may call what on the buses: every method of every interface, by callers who may not.

The daemons are real. The bus is the one within a process, where the sender says by which user it
comes; that RabbitMQ vouches for users is shown in integration.
"""

import contextlib
import datetime
import urllib.parse

import oslo_messaging as messaging
import pytest

from roost import exception
from roost.conductor.cell.liveness import COMPUTE
from roost.context import admin_context
from roost.db.cell import instances, ports, services
from roost.db.engine import Database
from roost.objects import HostFinding
from roost.rig.embedded import EmbeddedRig
from roost.rpc.access import names
from roost.rpc.cell_conductor import CellConductor
from roost.rpc.compute import Compute
from roost.rpc.scheduler import CellScheduler, Scheduler
from roost.rpc.transport import Bus
from roost.scheduler.client import SchedulerClient
from tests.builders import a_report, taken
from tests.rpc_methods import METHODS, arguments_of
from tests.stories.cloud import Cloud, wait_until

VICTIM, NEIGHBOUR, STRANGER = "cell1-host1", "cell1-host2", "cell2-host1"
READER = "watcher"
# What the credentials of a host are good for, in its own name. All else is refused.
OPEN_TO_HOSTS = {
    "cell-conductor.allocate_networks",
    "cell-conductor.attach_port",
    "cell-conductor.advance_operation",
    "cell-conductor.begin_operation",
    "cell-conductor.end_operation",
    "cell-conductor.describe_filtering",
    "cell-conductor.detach_port",
    "cell-conductor.free_networks",
    "cell-conductor.write_interfaces",
    "cell-conductor.list_instances",
    "cell-conductor.object_backport",
    "cell-conductor.renew_leases",
    "cell-conductor.report_finding",
    "cell-conductor.report_power",
    "cell-conductor.report_service",
    "cell-conductor.locate_instances",
    "cell-scheduler.update_resource_stats",
}
HOST_FIELDS = (*("node", "cell_uuid", "enabled", "up", "instances_used"),)
every_method = pytest.mark.parametrize(
    ("interface", "name"), METHODS, ids=lambda part: getattr(part, "topic", part)
)


class Site:
    """A small cloud, and what can be seen of it."""

    def __init__(self, rig):
        self.rig = rig
        self.cloud = Cloud(rig)
        self._buses = {}
        self.database = Database(rig.plan.database_url("cell1"), connections=2)
        self.schedulers = SchedulerClient(self.bus("api", "api"))
        self._victim = None

    def bus(self, level, user):
        """A bus as one who has the credentials of a level or of a host."""
        if (level, user) not in self._buses:
            planned = urllib.parse.urlsplit(self.rig.plan.bus_url(level))
            name = user if user == READER else self.rig.plan.bus_user(user)
            url = planned._replace(netloc=f"{name}@").geturl()
            self._buses[level, user] = Bus(self.rig.conf("api"), url)
        return self._buses[level, user]

    @property
    def cell_uuid(self):
        return self.report(VICTIM).cell_uuid

    def report(self, host):
        nodes = self.schedulers.list_hosts(admin_context(), host=host)
        return next(report for report in nodes if report.node == host)

    @contextlib.contextmanager
    def silent(self, host):
        """The site while a host reports nothing by itself, whose word is given by a test."""
        own = self.report(host).amount("VCPU")
        self.rig.stop_daemon(host)
        try:
            yield
        finally:
            self.rig.start_daemon(host)
            wait_until(lambda: self.report(host).amount("VCPU") == own, f"reports of {host}")

    def ask(self, user, interface, name, arguments, *, cell="cell1"):
        """Call a method with the credentials of a user; a cast is called, too, to hear of it."""
        bus = self.bus(cell if interface.in_cell else "api", user)
        client = messaging.get_rpc_client(
            bus.transport, bus._target(interface.topic), serializer=bus.serializer
        )
        server = VICTIM if interface is Compute else None
        prepared = client.prepare(server=server, version=interface.version, timeout=30)
        return prepared.call(admin_context(), name, **arguments)

    def boot(self, host):
        (server,) = self.cloud.boot(availability_zone=f"nova:{host}", networks="auto")
        self.cloud.wait([server], "ACTIVE")
        wait_until(lambda: self.claim(server)["state"] == "confirmed", f"claim of {server}")
        return server

    @property
    def victim(self):
        """A server that somebody else has on the host of the attacks."""
        self._victim = self._victim or self.boot(VICTIM)
        return self._victim

    def claim(self, server):
        (claim,) = self.schedulers.list_claims(admin_context(), instance_uuids=[server])
        return {name: told for name, told in claim.items() if name != "age"}

    def row(self, server):
        with self.database.read() as session:
            return instances.get(session, server).obj_to_primitive()

    def guests(self, host):
        return Compute(self.bus("cell1", "api")).on(host).list_guests(admin_context())

    def seen(self):
        """Return all that is to be seen of the victim, and of its host."""
        victim, report = self.victim, self.report(VICTIM)
        host = {name: getattr(report, name) for name in HOST_FIELDS}
        host["inventories"] = [one.obj_to_primitive() for one in report.inventories]
        with self.database.read() as session:
            held = len(ports.info(session, victim, networks=[]).vifs)
        return self.row(victim), self.claim(victim), self.guests(VICTIM), host, held


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    overrides = {"bus": {"readers": READER}}
    rig = EmbeddedRig(tmp_path_factory.mktemp("rig"), cells=2, hosts=2, overrides=overrides)
    rig.start()
    site = Site(rig)
    yield site
    rig.stop()
    site.cloud.close()
    site.database.close()


def naming(interface, name, *, host, cell_uuid, **others):
    """Return arguments by which a caller says that it is a host of a cell."""
    declared = interface.methods[name].declared
    arguments = arguments_of(interface, name)
    arguments |= {key: value for key, value in others.items() if key in arguments}
    if names(declared.own_host):
        _put(arguments, declared.own_host, host)
    if names(declared.own_cell):
        _put(arguments, declared.own_cell, cell_uuid)
    return arguments


def _put(arguments, path, value):
    holder, _, key = path.rpartition(".")
    if not holder:
        arguments[key] = value
    elif isinstance(arguments[holder], dict):
        arguments[holder] = {**arguments[holder], key: value}
    else:
        setattr(arguments[holder], key, value)


def is_refused(ask):
    try:
        ask()
    except exception.Forbidden:
        return True
    except Exception:  # noqa: BLE001 - whatever came of it, it was let in
        return False
    return False


@pytest.mark.parametrize("user", [NEIGHBOUR, STRANGER, "cell2"])
@every_method
def test_nobody_speaks_for_a_host_or_a_cell_but_itself(site, user, interface, name):
    arguments = naming(interface, name, host=VICTIM, cell_uuid=site.cell_uuid)
    same_for_all = (user, name) in ((NEIGHBOUR, "object_backport"), ("cell2", "list_read_parts"))
    asks_rows = (user, name) == ("cell2", "release_claims") and interface is CellScheduler
    refused = is_refused(lambda: site.ask(user, interface, name, arguments))
    assert refused != (same_for_all or asks_rows)


@every_method
def test_a_reader_reads_the_hosts_and_their_changes_and_nothing_else(site, interface, name):
    arguments = naming(interface, name, host=VICTIM, cell_uuid=site.cell_uuid)
    refused = is_refused(lambda: site.ask(READER, interface, name, arguments))
    assert refused != (interface is Scheduler and name in ("list_hosts", "changes_since"))


@every_method
def test_a_host_in_its_own_name_may_do_what_is_listed(site, interface, name):
    victim = site.victim
    before = site.row(victim), site.claim(victim), site.guests(VICTIM)
    arguments = naming(
        interface,
        name,
        host=NEIGHBOUR,
        cell_uuid=site.cell_uuid,
        instance_uuid=victim,
        instance_uuids=[victim],
        attempt=1,
        changes={"vm_state": "error", "task_state": None},
        binary=COMPUTE,
    )
    refused = is_refused(lambda: site.ask(NEIGHBOUR, interface, name, arguments))
    assert refused == (f"{interface.topic}.{name}" not in OPEN_TO_HOSTS)
    assert (site.row(victim), site.claim(victim), site.guests(VICTIM)) == before


def reporting(site, host, cell_uuid, vcpus):
    """Return the report of a host that says that it has the victim's server, and how large."""
    victim, now = site.victim, datetime.datetime.now(datetime.UTC)
    told = {"instances": [victim], "holdings": {victim: taken(vcpus=2, memory_mb=1024, disk_gb=2)}}
    report = a_report(host, cell_uuid=cell_uuid, vcpus=vcpus, reported_at=now, **told)
    return {"report": report}


@pytest.mark.parametrize("host", [NEIGHBOUR, STRANGER])
def test_who_reports_the_server_of_another_host_does_not_get_it(site, host):
    before, own = site.seen(), site.report(host)
    with site.silent(host):
        for vcpus in (1001, 1002):  # a server that is reported twice without a claim is given one
            arguments = reporting(site, host, own.cell_uuid, vcpus)
            site.ask(host, CellScheduler, "update_resource_stats", arguments)
            heard = site.report(host)
            assert heard.amount("VCPU") == vcpus
            assert (heard.instances_used, heard.amount("VCPU", "used")) == (
                own.instances_used,
                own.amount("VCPU", "used"),
            )
        assert site.seen() == before


def telling(site, name, host):
    """Return arguments by which a host says that the victim's server is its own."""
    victim = site.victim
    others = {
        "instance_uuid": victim,
        "instance_uuids": [victim],
        "attempt": 1,
        "changes": {"vm_state": "error", "task_state": None},
        "binary": COMPUTE,
    }
    arguments = naming(CellConductor, name, host=host, cell_uuid=None, **others)
    if name == "renew_leases":
        arguments["operations"] = [victim]
    if "operation" in arguments:
        arguments["operation"].instance_uuid = victim
    if name == "report_finding":
        arguments["finding"] = HostFinding.of(
            kind="leftover", instance_uuid=victim, host=host, reason="a"
        )
    return arguments


@pytest.mark.parametrize("host", [NEIGHBOUR, STRANGER])
@pytest.mark.parametrize("name", CellConductor.methods)
def test_who_tells_its_conductor_of_the_server_of_another_host_changes_nothing(site, host, name):
    before, own = site.seen(), site.report(host)
    cell = host.partition("-")[0]
    arguments = telling(site, name, host)
    for _ in range(2):
        refused = is_refused(lambda: site.ask(host, CellConductor, name, arguments, cell=cell))
        assert not refused  # by its own name it is let in
    assert site.seen() == before
    after = site.report(host)
    assert (after.instances_used, after.amount("VCPU", "used")) == (
        own.instances_used,
        own.amount("VCPU", "used"),
    )


def test_a_host_is_no_conductor(site):
    """As long as one is up, those of hosts that are silent are taken for down."""
    daemon = {"host": VICTIM, "binary": "roost-cell-conductor"}
    with pytest.raises(exception.Forbidden, match=COMPUTE):
        site.ask(VICTIM, CellConductor, "report_service", daemon)
    with site.database.read() as session:
        assert services.list_services(session, hosts=[VICTIM], binary=daemon["binary"]) == []


def test_a_cell_keeps_its_claims_whatever_another_cell_says(site):
    victim = site.victim
    before = site.claim(victim)
    with pytest.raises(exception.Forbidden, match="another cell"):
        site.ask("cell2", CellScheduler, "release_claims", {"instance_uuids": [victim]})
    own = naming(
        CellScheduler,
        "move_claim",
        host=STRANGER,
        cell_uuid=site.schedulers.list_hosts(admin_context(), host=STRANGER)[0].cell_uuid,
        instance_uuid=victim,
    )
    own["to"].host, own["to"].node = STRANGER, STRANGER
    with pytest.raises(exception.Forbidden, match="another cell"):
        site.ask("cell2", CellScheduler, "move_claim", own)
    assert site.claim(victim) == before


def test_no_word_of_the_future_closes_a_host(site):
    """It would be the last one for ever."""
    arguments = {"host": VICTIM, "enabled": False, "version": 2**60}
    with pytest.raises(exception.Invalid, match="future"):
        site.ask("api", Scheduler, "set_host_enabled", arguments)
