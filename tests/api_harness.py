"""The whole API in this process: two cells and cell0 on SQLite, buses that record."""

import contextlib
import dataclasses
import datetime
import functools
from concurrent import futures

import falcon.testing
import pytest
import sqlalchemy as sa

from roost import conf, states
from roost.api.app import make_app
from roost.api.dependencies import ApiOptions, Dependencies
from roost.api.middleware import NoAuth
from roost.api.policy import Policy
from roost.cells import Cells
from roost.db.api import (
    aggregates,
    build_requests,
    cells,
    console_tokens,
    flavors,
    instance_mappings,
    keypairs,
    networks,
    ports,
    quota,
    security_groups,
    server_groups,
)
from roost.db.api import models as api_models
from roost.db.cell import actions, instances, services
from roost.db.cell import models as cell_models
from roost.db.engine import Database
from roost.db.types import utcnow
from roost.image.driver import ImageMember
from roost.networks import LocalNetwork, random_mac
from roost.objects import CellMapping, InstanceAction, NetworkInfo, consoles
from roost.objects.mapping import CELL0_UUID
from roost.rpc.compute import Compute
from roost.rpc.super_conductor import SuperConductor
from roost.security_groups import new_group
from roost.servicegroup.db import DatabaseGroup
from roost.standalone.known_networks import usable
from roost.standalone.networking import LocalNetworking
from roost.standalone.tables import ROUTES, list_rules
from tests import tables
from tests.builders import (
    CELL1,
    CELL2,
    NOW,
    a_flavor,
    a_group,
    a_keypair,
    a_report,
    a_spec,
    a_uuid,
    a_vif,
    a_wish,
    an_image,
    an_instance,
)
from tests.fakes.attaching_host import AttachingHost
from tests.fakes.bus import RecordingBus
from tests.fakes.images import FakeImageStore
from tests.fakes.scheduler_hosts import FakeSchedulerHosts

IMAGE = "cccccccc-cccc-4ccc-8ccc-cccccccccccc"
TASK_SECONDS = 30.0
LARGER = "larger"  # a flavor, once it is added
PRIVATE = LocalNetwork(
    name="private", cidr="10.0.0.0/24", labels=("physnet1",), preferred_labels=("rack7",)
)
UNLIMITED = dict.fromkeys(ApiOptions().quota, -1)
HOST = "http://falconframework.org"
ALICE = "alice:project"
ADMIN = "admin:ops"


class Client(falcon.testing.TestClient):
    """Asks as somebody, in a microversion of Compute, and Placement in its latest."""

    def ask(self, method, path, *, version="2.1", token=ADMIN, **more):
        versions = f"compute {version}, placement latest"
        headers = {"X-Auth-Token": token, "OpenStack-API-Version": versions}
        return self.simulate_request(
            method, path, headers=headers | more.pop("headers", {}), **more
        )

    def get(self, path, **more):
        return self.ask("GET", path, **more)

    def pages(self, path, *, of="servers", **more):
        """Yield the answers of a list, following its links."""
        while path:
            answer = self.get(path, **more)
            assert answer.status_code == 200, answer.text
            yield answer
            links = answer.json.get(f"{of}_links", [])
            path = links[0]["href"].removeprefix(HOST) if links else None

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
    parts: Dependencies

    def place(self, cell_uuid=CELL1, **values):
        """Put an instance into a cell, mapped as a super-conductor does it."""
        instance = an_instance(**values)
        if cell_uuid is not None:
            with self.databases[cell_uuid].begin() as session:
                instances.create(session, instance)
        spec = a_spec(project_id=instance.project_id)
        with self.api_db.begin() as session:
            build_request = a_wish(spec, instance=instance, created_at=instance.created_at)
            build_requests.create(session, [build_request], spec=spec)
            if cell_uuid is not None:
                build_requests.forget(session, instance.uuid)
                instance_mappings.map_to_cell(session, instance.uuid, cell_uuid)
        return instance

    def build_request(self, **values):
        return self.place(None, **values)

    def end(self, instance, cell_uuid=CELL1):
        """Delete an instance as the daemons do it, until nothing names it but its cell's rows."""
        with self.api_db.begin() as session:
            instance_mappings.queue_for_delete(session, instance.uuid)
        with self.databases[cell_uuid].begin() as session:
            instances.mark_deleted(session, instance.uuid)
        with self.api_db.begin() as session:
            instance_mappings.forget(session, instance.uuid)

    def image(self, **values):
        image = an_image(**{"owner": "project", **values})
        self.images.images[image.id] = image
        return image

    def shared_image(self, *projects, status="pending", **values):
        """Make an image of the project that others are members of."""
        image = self.image(visibility="shared", **values)
        members = [ImageMember(project, status, NOW, NOW) for project in projects]
        self.images.shared[image.id] = members
        return image

    def network(self, **values):
        """Make a network of a project, with a subnet."""
        made = networks.Network(
            **{
                "id": a_uuid(),
                "project_id": "project",
                "name": "mine",
                "description": "",
                "shared": False,
                "cidr": "10.9.0.0/24",
                "subnet_name": "",
                "created_at": NOW,
            }
            | values
        )
        with self.api_db.begin() as session:
            networks.create(session, made)
        return made

    def port(self, network_id, **values):
        """Make a port of a project beforehand."""
        made = ports.MadePort(
            **{
                "id": a_uuid(),
                "project_id": "project",
                "network_id": network_id,
                "name": "",
                "description": "",
                "ip": "10.9.0.200",
                "mac": random_mac(),
                "instance_uuid": None,
                "created_at": NOW,
            }
            | values
        )
        with self.api_db.begin() as session:
            assert ports.create(session, made)
        return made

    def security_group(self, **values):
        """Make a security group of a project, without members."""
        group = new_group(**{"project_id": "project", "name": a_uuid(), "description": ""} | values)
        with self.api_db.begin() as session:
            security_groups.create(session, group, at=NOW)
        return group

    def console_token(self, **values):
        """Let a token lead to a console; return it."""
        token = consoles.new_token()
        told = {"instance_uuid": a_uuid(), "kind": "vnc", "host": "192.0.2.7", "port": 6900}
        digest, later = consoles.digest(token), utcnow() + datetime.timedelta(minutes=10)
        found = {"digest": digest, "expires_at": later} | told | values
        with self.api_db.begin() as session:
            console_tokens.create(session, console_tokens.ConsoleToken(**found))
        return token

    def things(self):
        """Make one of each thing; return what paths call them, by the names in paths."""
        flavorid, request_id = a_uuid(), f"req-{a_uuid()}"
        secured = self.security_group()
        instance = self.place(
            uuid=a_uuid(),
            vm_state=states.ACTIVE,
            task_state=None,
            host="h1",
            metadata={"a": "b"},
            tags=["a"],
            network_info=NetworkInfo.of(vifs=[a_vif()]),
        )
        with self.api_db.begin() as session:
            # whoever deletes it gives that back
            quota.charge(session, project_id="project", instances=1, cores=1, ram=512)
            flavor = a_flavor(flavorid=flavorid, name=flavorid, extra_specs={"a": "b"})
            flavors.create(session, flavor)
            group = server_groups.create(session, a_group(), defaults=UNLIMITED)
            keypair = keypairs.create(
                session, a_keypair(), project_id="project", defaults=UNLIMITED
            )
            aggregate = aggregates.create(session, a_uuid(), metadata={})
        with self.databases[CELL1].begin() as session:
            actions.start(session, _an_action(instance, request_id))
        return {
            "flavor_id": flavorid,
            "key": "a",
            "tag": "a",
            "server_id": instance.uuid,
            "port_id": instance.network_info.vifs[0].id,
            "network_label": instance.network_info.vifs[0].network_name,
            "server_group_id": group.uuid,
            "keypair_name": keypair.name,
            "service_id": "enable",
            "host_name": "h1",
            "hypervisor_id": self.scheduler.reports[0].node_uuid,
            "provider_uuid": self.scheduler.reports[0].node_uuid,
            "resource_class": "VCPU",
            "trait": self.scheduler.reports[0].traits[0],
            "consumer_uuid": instance.uuid,
            "aggregate_id": str(aggregate.id),
            "request_id": request_id,
            "image_id": self.image(properties={"a": "b"}, tags=["a"]).id,
            "member_id": "another-project",
            "network_id": PRIVATE.id,
            "made_network_id": self.network(cidr=None, tags=["a"]).id,
            "subnet_id": usable(self.network(subnet_tags=["a"])).subnet_id,
            "made_port_id": self.port(self.network().id, tags=["a"]).id,
            "project_id": "project",
            "class_name": "default",
            "before": "2026-01-01 00:00:00",
            "migration_id": "1",
            "floating_ip_id": "1",
            "volume_id": a_uuid(),
            "alias": "os-services",
            "console_token": self.console_token(),
            "security_group_id": secured.id,
            "security_group_rule_id": secured.rules[0].id,
        }

    def instance(self, uuid, cell_uuid=CELL1):
        with self.databases[cell_uuid].read() as session:
            return instances.find(session, uuid, deleted=True)

    def mapping(self, uuid):
        with self.api_db.read() as session:
            return instance_mappings.find(session, uuid)

    def add_larger_flavor(self):
        """Add a flavor with more of everything than that of other servers."""
        more = {"vcpus": 2, "memory_mb": 2048, "root_gb": 20}
        with self.api_db.begin() as session:
            flavors.create(session, a_flavor(flavorid=LARGER, name="larger", **more))

    def usage(self, project="project"):
        with self.api_db.read() as session:
            return quota.usage(session, project)


@contextlib.contextmanager
def made_in(folder, options, **parts):
    """Make a world with its databases in a folder: for the tests of a module to share."""
    databases = []

    def make_database(name, metadata):
        databases.append(tables.make(f"{folder}/{name}.sqlite", metadata))
        return databases[-1]

    api_db = make_database("api", api_models.metadata)
    with made(api_db, make_database, options, **parts) as world:
        yield world
    for database in databases:
        database.close()


def _an_action(instance, request_id):
    return InstanceAction(
        instance_uuid=instance.uuid,
        action="create",
        request_id=request_id,
        user_id="user",
        project_id=instance.project_id,
        start_time=instance.created_at,
        finish_time=None,
        message=None,
        events=[],
    )


@pytest.fixture
def options():
    return ApiOptions(max_limit=5, verifies_images=True)


@pytest.fixture
def world(api_db, make_database, options):
    with made(api_db, make_database, options) as world:
        yield world


@contextlib.contextmanager
def made(api_db, make_database, options, *, authentication=None, policy=None, network_driver=None):
    """Make a world: for tests that share one, too."""
    databases = {
        uuid: make_database(name, cell_models.metadata)
        for uuid, name in ((CELL0_UUID, "cell0"), (CELL1, "cell1"), (CELL2, "cell2"))
    }
    buses = {"fake://cell1/": RecordingBus(), "fake://cell2/": RecordingBus()}
    _fill(api_db, databases)
    by_url = {database.url: database for database in databases.values()}
    api_bus, images = RecordingBus(), FakeImageStore(an_image(id=IMAGE, name="tiny"))
    scheduler = FakeSchedulerHosts(
        a_report("h1", booted_at=NOW, traits=["HW_CPU_X86_AVX2"]),
        a_report("h2", cell_uuid=CELL2, availability_zone="east"),
    )
    networking = network_driver or LocalNetworking([PRIVATE])
    super_conductor = SuperConductor(api_bus)
    all_cells = Cells(
        api_db, make_database=by_url.get, make_bus=buses.get, task_seconds=TASK_SECONDS
    )
    with futures.ThreadPoolExecutor(8) as executor:
        parts = Dependencies(
            authentication=authentication or NoAuth(),
            api_database=api_db,
            cells=all_cells,
            super_conductor=super_conductor,
            scheduler=scheduler,
            images=images,
            networks=[PRIVATE],
            networking=bound(networking, api_db, all_cells, super_conductor),
            service_group=DatabaseGroup(down_time=60),
            policy=policy or _default_policy(),
            executor=executor,
            options=options,
            routes=ROUTES,
        )
        client = Client(make_app(parts))
        world = World(client, api_db, databases, api_bus, buses, scheduler, images, parts)
        AttachingHost(world)
        yield world
        parts.cells.close()


def bound(networking, api_db, all_cells, super_conductor):
    """Return local networking that knows what users made, as roost-api binds it."""
    return networking.with_database(
        api_db, all_cells, now=api_db.now, super_conductor=super_conductor
    )


@pytest.fixture
def client(world):
    return world.client


@functools.cache
def _default_policy():
    """The rules as they come: no operator's file changes them, so worlds can share them."""
    return Policy(conf.of({}), list_rules())


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
            itself = {"host": host, "binary": "roost-compute", "version": Compute.version}
            services.report(session, **itself, availability_zone="nova")


@dataclasses.dataclass
class Counted:
    seen: list

    @property
    def count(self):
        return len(self.seen)


@contextlib.contextmanager
def count_statements(world):
    """Count the statements that any database gets within the block.

    The list of cells is read every few seconds, whatever is asked: it does not count.
    """
    counted = Counted([])
    databases = (world.api_db, *world.databases.values())
    for database in databases:  # else it may do so within the block
        with database.read() as session:
            database._clock.read(session)
    engines = [database.engine for database in databases]

    def note(_connection, _cursor, statement, *_more):
        if "FROM cell_mappings ORDER BY" in statement:
            return
        if statement.split()[0] in ("SELECT", "INSERT", "UPDATE", "DELETE"):
            counted.seen.append(statement)

    for engine in engines:
        sa.event.listen(engine, "before_cursor_execute", note)
    try:
        yield counted
    finally:
        for engine in engines:
            sa.event.remove(engine, "before_cursor_execute", note)
