"""What the users of a rig may not do, tried on the rig itself with what its files say."""

import contextlib
import json
import stat
import uuid

import kombu
import pytest
import sqlalchemy as sa
from amqp.exceptions import AccessRefused, NotAllowed, PreconditionFailed

from roost import conf
from roost.context import admin_context
from roost.rig.client import Client
from roost.rpc.transport import Bus
from roost.scheduler.client import SchedulerClient
from tests.stories.cloud import wait_until

VICTIM, VICTIMS_NEIGHBOUR = "cell1-host1", "cell1-host2"


class Intruder:
    """Somebody who has broken into the daemons of a level, or a host, and knows their files."""

    def __init__(self, plan, level):
        self._plan, self._level = plan, level

    @contextlib.contextmanager
    def bus(self, level):
        """A channel to a bus, whose errors are raised at the latest at the end of the block."""
        url = self._plan.bus_url(level, as_=self._level).replace("rabbit://", "amqp://")
        with kombu.Connection(url, transport_options={"confirm_publish": True}) as connection:
            connection.connect()
            yield connection.channel()

    def publishes(self, level, exchange, key, body="{}", **properties):
        with self.bus(level) as channel:
            kombu.Producer(channel).publish(
                body,
                exchange=exchange,
                routing_key=key,
                content_type="application/json",
                content_encoding="utf-8",
                **properties,
            )

    def casts(self, level, exchange, key, method, *, user_id, **arguments):
        """Send what a client of ours would, to wherever the broker lets it through."""
        context = {f"_context_{name}": told for name, told in admin_context().to_dict().items()}
        message = {"method": method, "args": arguments, "version": "1.0"}
        envelope = {
            "oslo.version": "2.0",
            "oslo.message": json.dumps(message | context | {"_unique_id": uuid.uuid4().hex}),
        }
        self.publishes(level, exchange, key, json.dumps(envelope), user_id=user_id)

    @contextlib.contextmanager
    def database(self, whose):
        """A connection to a database by the user of this level."""
        url = self._plan.database_url(whose, as_=self._level)
        engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
        with engine.connect() as connection:
            yield connection


def check_buses(plan):
    """A cell's daemons ask the schedulers, and do nothing else on the bus of the API level."""
    api, cell = plan.bus_name("api"), Intruder(plan, "cell1")
    cell.publishes("api", api, f"{api}.cell-scheduler.x")
    for key in (f"{api}.super-conductor", f"{api}.super-conductor.x", f"{api}.scheduler", "#"):
        with pytest.raises(AccessRefused):
            cell.publishes("api", api, key)
    for queue in (f"{api}.super-conductor", f"{api}.scheduler"):
        with pytest.raises(AccessRefused, match=r"amq\.default"):
            cell.publishes("api", "", queue)
        with pytest.raises(AccessRefused), cell.bus("api") as channel:
            channel.basic_get(queue)
        with pytest.raises(AccessRefused), cell.bus("api") as channel:
            channel.queue_purge(queue)
    _check_answers(plan, cell)
    with pytest.raises(NotAllowed), cell.bus("cell2"):
        pass


def _check_answers(plan, cell):
    """Its answers are its own: it can neither listen to others' nor divert what others are sent."""
    api, own = plan.bus_name("api"), f"reply_{plan.bus_user('cell1')}_mine"
    with pytest.raises(AccessRefused), cell.bus("api") as channel:
        channel.queue_declare(f"reply_{plan.bus_user('cell2')}_x")
    with cell.bus("api") as channel:
        channel.queue_declare(own, exclusive=True)
        with pytest.raises(AccessRefused):
            channel.queue_bind(own, api, routing_key="#")


def check_hosts(plan):
    """One host's credentials do nothing to other hosts, to other cells or to the schedulers."""
    host = Intruder(plan, VICTIMS_NEIGHBOUR)
    _check_topics_of_hosts(plan, host)
    _check_queues_of_hosts(plan, host)
    _check_attacks_of_hosts(plan, host)


def _check_topics_of_hosts(plan, host):
    """It neither reads what the schedulers know, nor closes hosts: it is not let through at all."""
    api, cell = plan.bus_name("api"), plan.bus_name("cell1")
    for level, exchange, key in (
        ("api", api, f"{api}.scheduler"),
        ("api", api, f"{api}.super-conductor"),
        ("api", "", f"{api}.scheduler"),
        ("cell1", cell, f"{cell}.compute.{VICTIM}"),
        ("cell1", cell, "#"),
    ):
        with pytest.raises(AccessRefused):
            host.publishes(level, exchange, key)
    key = f"{api}.cell-scheduler"
    with pytest.raises(PreconditionFailed, match="user_id"):  # to come as somebody else
        host.publishes("api", api, key, user_id=plan.bus_user("cell1"))
    with pytest.raises(NotAllowed), host.bus("cell2"):
        pass


def _check_queues_of_hosts(plan, host):
    """It hears neither what others are told nor what they are answered."""
    cell = plan.bus_name("cell1")
    for queue in (f"{cell}.cell-conductor", f"{cell}.compute.{VICTIM}"):
        with pytest.raises(AccessRefused), host.bus("cell1") as channel:
            channel.basic_get(queue)
    own = f"reply_{plan.bus_user(VICTIMS_NEIGHBOUR)}_mine"
    for key in ("#", f"{cell}.cell-conductor", f"{cell}.compute.{VICTIM}"):
        with host.bus("cell1") as channel:
            channel.queue_declare(own, exclusive=True)
            with pytest.raises(AccessRefused):
                channel.queue_bind(own, cell, routing_key=key)


def _check_attacks_of_hosts(plan, host):
    """What gets through is known by its sender, and refused: nothing changes."""
    api, cell = plan.bus_name("api"), plan.bus_name("cell1")
    own = plan.bus_user(VICTIMS_NEIGHBOUR)
    cloud = Client(plan.endpoint)
    victim = _a_server_on(cloud, VICTIM)
    schedulers, asked = SchedulerClient(_bus(plan)), admin_context()
    (before,) = schedulers.list_claims(asked, instance_uuids=[victim])
    claims = {"instance_uuids": [victim]}
    closes = {"host": "cell2-host1", "enabled": False, "version": 2**60}
    compute, conductor = f"{cell}.compute.{VICTIM}", f"{cell}.cell-conductor"
    frees = {"instance_uuid": victim, "host": VICTIM}
    host.casts("api", api, f"{api}.cell-scheduler", "release_claims", user_id=own, **claims)
    host.casts("api", api, f"{api}.cell-scheduler", "set_host_enabled", user_id=own, **closes)
    host.casts("cell1", cell, conductor, "free_networks", user_id=own, **frees)
    for user_id in (own, None):
        host.casts("cell1", "", compute, "refresh_security_groups", user_id=user_id, project_id="p")
    _wait_for_refusals(plan, "scheduler", "release_claims")
    _wait_for_refusals(plan, "cell1-conductor", "free_networks")
    _wait_for_refusals(plan, VICTIM, "refresh_security_groups", times=2)
    (after,) = schedulers.list_claims(asked, instance_uuids=[victim])
    assert {**after, "age": None} == {**before, "age": None}
    assert all(report.enabled for report in schedulers.all_hosts(asked))
    assert cloud.server(victim)["status"] == "ACTIVE"
    assert cloud.get(f"/servers/{victim}/diagnostics")["uptime"] >= 0
    schedulers._bus.close()
    cloud.delete_server(victim)


def _a_server_on(cloud, host):
    flavor = next(each["id"] for each in cloud.flavors() if each["name"] == "m1.tiny")
    body = {
        "name": "victim",
        "flavorRef": flavor,
        "imageRef": cloud.images()[0]["id"],
        "networks": "none",
        "availability_zone": f"nova:{host}",
    }
    (victim,) = cloud.create_servers({"server": body})
    wait_until(lambda: cloud.server(victim)["status"] == "ACTIVE", "a server of somebody else")
    return victim


def _bus(plan):
    settings = conf.load([f"--config-file={plan.config_file('manage')}"])
    return Bus(settings, plan.bus_url("api"))


def _wait_for_refusals(plan, daemon, method, *, times=1):
    """Wait until a daemon has said that it refused something, so that it surely has seen it."""
    told = f"a message was refused: {method}()"
    log = plan.log_file(daemon)
    wait_until(lambda: log.read_text().count(told) >= times, f"{times} of {told!r} in {log}")


def check_api_level(plan):
    """The API level asks a cell's hosts, and can pass itself off neither as them nor to others."""
    bus, api = plan.bus_name("cell1"), Intruder(plan, "api")
    api.publishes("cell1", bus, f"{bus}.compute.x")
    with pytest.raises(AccessRefused):
        api.publishes("cell1", bus, f"{bus}.cell-conductor")
    with pytest.raises(AccessRefused), api.bus("cell1") as channel:
        channel.basic_get(f"{bus}.cell-conductor")
    with pytest.raises(AccessRefused):
        api.publishes("cell1", "", f"{bus}.cell-conductor")


def check_databases(plan):
    """Daemons change the rows of their own level, and no table."""
    for level, own in (("api", "api"), ("api", "cell0"), ("api", "cell1"), ("cell1", "cell1")):
        with Intruder(plan, level).database(own) as connection:
            table = sa.inspect(connection).get_table_names()[0]
            connection.execute(sa.text(f"DELETE FROM {table} WHERE 1 = 0"))
            with pytest.raises(sa.exc.DBAPIError):
                connection.execute(sa.text("CREATE TABLE mine (id INTEGER)"))
        with Intruder(plan, level).database(own) as connection, pytest.raises(sa.exc.DBAPIError):
            connection.execute(sa.text(f"DROP TABLE {table}"))
    for level, whose in (
        ("cell1", "api"), ("cell1", "cell0"), ("cell1", "cell2"), ("cell1", "scheduler"),
        ("api", "scheduler"), ("scheduler", "api"), ("scheduler", "cell1"),
    ):  # fmt: skip
        with pytest.raises(sa.exc.OperationalError), Intruder(plan, level).database(whose):
            pass


def check_files(plan):
    """Nobody else on the machine reads a password."""
    files = [plan.state / "rig.json", *(plan.state / "etc").iterdir()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
