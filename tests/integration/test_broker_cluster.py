"""A cluster of three brokers whose nodes are killed in turn: RPC goes on by those that are left."""

import pathlib
import tempfile
import threading
import time

import pytest

from roost.context import admin_context
from tests.external.rabbitmq_cluster import OPTIONS, RabbitCluster
from tests.fakes.broker_pair import VHOST, ClusterScene, Probe
from tests.stories.single_cell_deployment import Site

pytestmark = pytest.mark.timeout(300)
PROMISED = 10.0  # seconds from the death of a node until all RPC works
PATIENCE = 60.0


class Traffic:
    """Calls and casts in every direction, one after another without end."""

    def __init__(self, scene):
        self._scene = scene
        self._stopping = threading.Event()
        self._worked = {}  # when the last one that worked was begun, by direction
        self._threads = [
            threading.Thread(target=self._run, args=(*direction, number))
            for number, direction in enumerate(scene.directions)
        ]

    def _run(self, sender, other, kind, first):
        number = first * 1_000_000
        while not self._stopping.is_set():
            began, number = time.monotonic(), number + 1
            if self._scene.works(sender, other, kind, number):
                self._worked[sender.name, kind] = began
            time.sleep(0.02)

    def until_all_work(self, *, since):
        """Return the seconds until in every direction something worked that was begun later."""
        deadline = since + PATIENCE
        while len(self._worked) < 4 or min(self._worked.values()) < since:
            assert time.monotonic() < deadline, f"since {since:.1f} only {self._worked} work"
            time.sleep(0.02)
        return max(self._worked.values()) - since

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        self.until_all_work(since=time.monotonic())
        return self

    def __exit__(self, *_):
        self._stopping.set()
        for thread in self._threads:
            thread.join()


@pytest.fixture(scope="module")
def cluster():
    with tempfile.TemporaryDirectory() as folder:
        cluster = RabbitCluster(pathlib.Path(folder))
        yield cluster
        cluster.close()


@pytest.fixture
def scene(cluster):
    scene = ClusterScene(cluster)
    yield scene
    scene.close()


@pytest.fixture
def site(tmp_path, mode, port, cluster):
    """All daemons of a deployment, on the cluster."""
    options = "\n".join(["", "[oslo_messaging_rabbit]", *map(" = ".join, OPTIONS.items())])
    bus = cluster.create_vhost(mode)
    site = Site(tmp_path, mode=mode, port=port, bus=bus, more=options)
    site.lay()
    site.start()
    yield site
    site.end()


def until(true, what):
    deadline = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < deadline, f"not {what}"
        time.sleep(0.1)


def test_whichever_node_is_killed_all_rpc_works_again_and_nothing_taken_is_lost(scene):
    """The first to die leads the queue of a daemon."""
    with Traffic(scene) as traffic:
        scene.cluster.mend()
        first = scene.cluster.leader(VHOST, f"{VHOST}.probe.b")
        for number in (first, (first + 1) % 3, (first + 2) % 3):
            scene.cluster.kill(number)
            assert traffic.until_all_work(since=time.monotonic()) < PROMISED
            until(
                lambda: (
                    not any(consumer_state.lost_since for consumer_state in scene.consumer_state)
                ),
                "hearing everywhere",
            )
    until(
        lambda: all(n in other.manager.heard for other, n in scene.taken), "all casts taken heard"
    )


def test_casts_that_wait_outlive_the_node_that_leads_their_queue(scene):
    a, b = scene.sides
    b.server.stop()
    b.server.wait()
    numbers = range(5_000_000, 5_000_050)
    for number in numbers:
        Probe(a.bus).on("b").tell(admin_context(), number=number)
    scene.cluster.kill(scene.cluster.leader(VHOST, f"{VHOST}.probe.b"))
    b.listen()
    until(lambda: b.manager.heard.issuperset(numbers), "all heard")


def test_servers_boot_while_a_node_of_the_brokers_is_killed(site, cluster):
    wanted = site.offer()
    servers = [site.boot_like(wanted) for _ in range(2)]
    cluster.kill(0)
    servers += [site.boot_like(wanted) for _ in range(2)]
    until(lambda: {site.status(each) for each in servers} == {"ACTIVE"}, "booted")
    for each in servers:
        site.client.delete_server(each)
    until(lambda: {site.status(each) for each in servers} == {None}, "deleted")
    assert set(site.manage("audit", "--json")["counts"].values()) == {0}
