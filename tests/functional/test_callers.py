"""Who may call what on the buses: every method of every interface, by callers who may not.

The daemons are real. The bus is the one within a process, where the sender says by which user it
comes; that RabbitMQ vouches for users is shown in integration.
"""

import oslo_messaging as messaging
import pytest

from roost import exception
from roost.context import admin_context
from roost.db.cell import instances
from roost.db.engine import Database
from roost.rig.embedded import EmbeddedRig
from roost.rpc.admission import names
from roost.rpc.compute import Compute
from roost.rpc.scheduler import CellScheduler, Scheduler
from roost.rpc.transport import Bus
from roost.scheduler.client import SchedulerClient
from tests.rpc_methods import METHODS, arguments_of
from tests.stories.cloud import Cloud, wait_until

VICTIM, NEIGHBOUR, STRANGER = "cell1-host1", "cell1-host2", "cell2-host1"
# What the credentials of a host are good for, in its own name. All else is refused.
OPEN_TO_HOSTS = {
    "cell-conductor.abandon_build",
    "cell-conductor.allocate_networks",
    "cell-conductor.attach_port",
    "cell-conductor.begin_build",
    "cell-conductor.begin_task",
    "cell-conductor.build_instances",
    "cell-conductor.describe_filtering",
    "cell-conductor.detach_port",
    "cell-conductor.finish_delete",
    "cell-conductor.free_networks",
    "cell-conductor.instance_update",
    "cell-conductor.list_instances",
    "cell-conductor.object_backport",
    "cell-conductor.renew_leases",
    "cell-conductor.report_finding",
    "cell-conductor.report_power",
    "cell-conductor.report_service",
    "cell-conductor.whereabouts",
    "cell-scheduler.update_resource_stats",
}
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
            url = self.rig.plan.bus_url(level, as_=user)
            self._buses[level, user] = Bus(self.rig.conf("api"), url)
        return self._buses[level, user]

    @property
    def cell_uuid(self):
        reports = self.schedulers.list_hosts(admin_context(), host=VICTIM)
        return reports[0].cell_uuid

    def ask(self, user, interface, name, arguments):
        """Call a method with the credentials of a user; a cast is called, too, to hear of it."""
        bus = self.bus("cell1" if interface.in_cell else "api", user)
        client = messaging.get_rpc_client(
            bus.transport, bus._target(interface.topic), serializer=bus.serializer
        )
        server = VICTIM if interface is Compute else None
        prepared = client.prepare(server=server, version=interface.version, timeout=30)
        return prepared.call(admin_context(), name, **arguments)

    def boot(self, host):
        (server,) = self.cloud.boot(availability_zone=f"nova:{host}")
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


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    rig = EmbeddedRig(tmp_path_factory.mktemp("rig"), cells=2, hosts=2)
    rig.start()
    site = Site(rig)
    yield site
    rig.stop()
    site.cloud.close()


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
    same_for_all = (user, name) == (NEIGHBOUR, "object_backport")
    asks_rows = (user, name) == ("cell2", "release_claims") and interface is CellScheduler
    refused = is_refused(lambda: site.ask(user, interface, name, arguments))
    assert refused != (same_for_all or asks_rows)


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
    )
    refused = is_refused(lambda: site.ask(NEIGHBOUR, interface, name, arguments))
    assert refused == (f"{interface.topic}.{name}" not in OPEN_TO_HOSTS)
    assert (site.row(victim), site.claim(victim), site.guests(VICTIM)) == before


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
