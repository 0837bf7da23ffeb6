"""A second service has the schedulers place what it has: volumes on pools of storage.

Two schedulers, a real bus, real databases; the service is the example of doc/consumers.rst.
"""

import collections
import datetime
import importlib.util
import pathlib
import sys
import time
from concurrent import futures

import pytest

from roost import conf, exception, migrations
from roost.cmd import scheduler as scheduler_daemon
from roost.context import admin_context
from roost.db.engine import Database
from roost.objects import RequestGroup, ResourceInventory, ResourceProvider, ResourceRequest
from roost.rig import services
from roost.rpc.transport import Bus
from roost.scheduler.client import CellSchedulerClient, SchedulerClient, provider_report
from tests.builders import a_uuid
from tests.parts import second
from tests.stories.cloud import wait_until

EXAMPLE = pathlib.Path(__file__).parents[2] / "doc" / "examples" / "roost-volume-placer"
GIB = 10
ROOM = {"disks": 12, "flash": 8}  # volumes
TRAITS = {"disks": [], "flash": ["STORAGE_DISK_SSD"]}
RACERS = 4  # threads of each of two consumers


@pytest.fixture(scope="module")
def volumes():
    """The module of the example."""
    spec = importlib.util.spec_from_file_location(
        "roost_volume_placer", EXAMPLE / "roost_volume_placer.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop(spec.name, None)


@pytest.fixture(scope="module")
def bus_url(rabbitmq):
    """An empty virtual host."""
    name = services.unique_name("test")
    yield rabbitmq.create_vhost(name)
    rabbitmq.delete_vhost(name)


@pytest.fixture(scope="module", params=["postgresql", second("mariadb")])
def database_url(request):
    """A database of each kind in turn, with the schedulers' schema."""
    server, name = request.getfixturevalue(request.param), services.unique_name("test")
    database = Database(server.create_database(name))
    migrations.sync(database, migrations.SCHEDULER)
    database.close()
    yield database.url
    server.drop_database(name)


@pytest.fixture(scope="module")
def schedulers(database_url, bus_url):
    """Two schedulers that share a database; yields a client of their interface for operators."""
    options = {
        "scheduler": {"transport_url": bus_url},
        "scheduler_database": {"connection": database_url},
    }
    daemons = [
        scheduler_daemon.build(conf.of({"DEFAULT": {"host": f"scheduler-{number}"}, **options}))
        for number in range(2)
    ]
    bus = Bus(conf.of({}), bus_url)
    for daemon in daemons:
        daemon.start()
    yield SchedulerClient(bus)
    with futures.ThreadPoolExecutor() as ending:
        list(ending.map(lambda each: each(), [*(daemon.stop for daemon in daemons), bus.close]))


@pytest.fixture(scope="module")
def connect(schedulers, volumes, bus_url):
    """Open buses, as consumers do; closed in the end."""
    opened = []

    def connect():
        opened.append(volumes.connect(bus_url))
        return opened[-1]

    yield connect
    for bus in opened:
        bus.close()


@pytest.fixture(scope="module")
def pools(volumes, connect, schedulers):
    """The pools, once the schedulers know them."""
    bus = connect()
    made = {
        name: volumes.Pool(bus, name, gib=room * GIB, traits=TRAITS[name])
        for name, room in ROOM.items()
    }
    for pool in made.values():
        assert pool.reporter.tick(time.monotonic())
    wait_until(
        lambda: {host.host for host in schedulers.all_hosts(admin_context())} == {*ROOM},
        "the reports",
    )
    return made


@pytest.fixture
def claims(schedulers, pools):
    """What the schedulers' books say: the volumes on each pool. All are released in the end."""

    def claims():
        found = collections.defaultdict(set)
        for claim in schedulers.all_claims(admin_context()):
            found[claim["host"]].add(claim["instance_uuid"])
        return dict(found)

    yield claims
    left = [volume for held in claims().values() for volume in held]
    schedulers.release_claims(admin_context(), instance_uuids=left)


@pytest.fixture
def placer(volumes, connect, claims):
    return volumes.VolumePlacer(connect())


def test_a_volume_is_placed_by_size_and_traits_and_lives_on_its_pool(placer, pools, claims):
    volume = a_uuid()
    assert placer.place([volume], gib=GIB, project="p", traits=TRAITS["flash"]) == ["flash"]
    pools["flash"].create(volume, GIB)
    wait_until(lambda: pools["flash"].reporter.tick(time.monotonic()), "the next report")
    assert claims() == {"flash": {volume}}
    pools["flash"].delete(volume)
    placer.release([volume])
    assert claims() == {}


def test_volumes_of_a_group_are_apart(placer):
    group = a_uuid()
    placed = [placer.place([a_uuid()], gib=1, project="p", apart=group) for _ in ROOM]
    assert sorted(placed) == [["disks"], ["flash"]]
    with pytest.raises(exception.NoValidHost, match="2 hosts: a member of the server group"):
        placer.place([a_uuid()], gib=1, project="p", apart=group)


def test_a_refusal_names_the_class_and_the_trait(placer):
    with pytest.raises(exception.NoValidHost, match="not enough CUSTOM_VOLUME_GB"):
        placer.place([a_uuid() for _ in range(21)], gib=GIB, project="p")
    with pytest.raises(exception.NoValidHost, match="2 hosts: lacks the trait CUSTOM_TAPE"):
        placer.place([a_uuid()], gib=GIB, project="p", traits=["CUSTOM_TAPE"])


SHELF_SPACE = "CUSTOM_SHELF_GB"  # which none of the other pools has


@pytest.fixture
def shelves(volumes, connect, schedulers, claims):
    """A pool with two shelves, of which one is fast."""
    client = CellSchedulerClient(connect())
    space = ResourceInventory.of(resource_class=SHELF_SPACE, total=GIB, max_unit=GIB)
    report = provider_report(
        "shelves",
        cell_uuid=volumes.SERVICE,
        inventories=[],
        consumers={},
        providers=[
            ResourceProvider.of(name="slow", inventories=[space]),
            ResourceProvider.of(name="fast", inventories=[space], traits=[volumes.SSD]),
        ],
        reported_at=datetime.datetime.now(datetime.UTC),
    )
    client.update_resource_stats(admin_context(), report=report)
    wait_until(
        lambda: schedulers.list_hosts(admin_context(), host="shelves"), "the report of the shelves"
    )
    yield client
    left = [*claims().get("shelves", ())]
    schedulers.release_claims(admin_context(), instance_uuids=left)
    schedulers.remove_host(admin_context(), host="shelves")


def test_a_mirrored_volume_has_space_on_two_shelves(volumes, shelves):
    half, fast = (
        RequestGroup.of(name=name, resources={SHELF_SPACE: GIB}, required_traits=traits)
        for name, traits in (("1", []), ("2", [volumes.SSD]))
    )

    def place(*groups, policy):
        request = ResourceRequest.of(
            request_uuid=a_uuid(),
            project_id="p",
            resource_groups=list(groups),
            group_policy=policy,
            requested_cell=volumes.SERVICE,
        )
        ((chosen,),) = shelves.select_destinations(
            admin_context(), request_spec=request, instance_uuids=[a_uuid()], alternates=0
        )
        return chosen.allocations

    with pytest.raises(exception.Invalid, match="a name of its own"):
        place(half, half, policy="isolate")
    mirrored = place(half, fast, policy="isolate")
    assert mirrored == {"slow": {SHELF_SPACE: GIB}, "fast": {SHELF_SPACE: GIB}}
    with pytest.raises(exception.NoValidHost, match=f"not enough {SHELF_SPACE}"):
        place(half, policy="none")


def test_two_racing_consumers_fill_all_pools_exactly(volumes, connect, claims):
    """Both ask for twice as much as there is; what is released in between is placed again."""
    placers = [volumes.VolumePlacer(connect()) for _ in range(2)]

    def place(number):
        volume = a_uuid()
        try:
            return volume, placers[number % 2].place([volume], gib=GIB, project="p")[0]
        except exception.NoValidHost:
            return volume, None

    def race():
        with futures.ThreadPoolExecutor(2 * RACERS) as racers:
            found = dict(racers.map(place, range(2 * sum(ROOM.values()))))
        return {volume: pool for volume, pool in found.items() if pool}

    first = race()
    assert collections.Counter(first.values()) == ROOM
    released = sorted(first)[:2]
    placers[0].release(released)
    second = race()
    assert len(second) == len(released)
    kept = {volume: first[volume] for volume in first if volume not in released}
    expected = collections.defaultdict(set)
    for volume, pool in (kept | second).items():
        expected[pool].add(volume)
    assert claims() == expected
