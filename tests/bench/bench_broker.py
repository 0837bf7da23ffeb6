"""How long RPC takes to work again, in all directions, after its broker broke in various ways.

``python -m tests.bench.bench_broker [--plain] [--rounds N] [CASE...]``: with our settings, or with
those of oslo.messaging and without echoes. It starts a private RabbitMQ; with ``--cluster`` it is
three, killed in turn (with ``--plain`` their queues are no quorum queues).
"""

import argparse
import contextlib
import pathlib
import statistics
import tempfile
import threading
import time

from roost import concurrency

if __name__ == "__main__":
    concurrency.select()

from tests.external.rabbitmq_cluster import RabbitCluster
from tests.fakes import broker_pair as scenes
from tests.fakes.broker_pair import ClusterScene, Scene

PATIENCE = 90.0  # seconds after which a direction counts as dead
PLAIN = (
    "?rabbit_interval_max=30&kombu_reconnect_delay=1.0&heartbeat_timeout_threshold=60"
    "&kombu_missing_consumer_retry_timeout=60"
)
CASES = (
    scenes.restart,
    scenes.kill,
    scenes.delete_queues,
    scenes.delete_vhost,
    scenes.reset,
    scenes.close_connections,
    scenes.cut,
    scenes.silence,
    scenes.strand,
    scenes.unbind,
    scenes.rob,
)


def until_all_work(scene):
    """Return the seconds until each direction works, by kind."""
    began, taken = time.monotonic(), {}

    def watch(sender, other, kind):
        for number in range(100_000):
            if scene.works(sender, other, kind, int(began * 1000) * 1000 + number):
                taken[kind, sender.name] = time.monotonic() - began
                return
            if time.monotonic() - began > PATIENCE:
                taken[kind, sender.name] = PATIENCE
                return
            time.sleep(0.1)

    threads = [threading.Thread(target=watch, args=each) for each in scene.directions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return taken


def kill_a_node(scene):
    """Kill one of three nodes, once the one killed before it has all queues again."""
    scene.cluster.kill_next()


def measure(case, scene, rounds):
    """Print how long it takes until all works again."""
    taken = {"call": [], "cast": []}
    for _ in range(rounds):
        case(scene)
        for (kind, _name), seconds in until_all_work(scene).items():
            taken[kind].append(seconds)
    figures = [f(taken[k]) for k in taken for f in (statistics.median, max)]
    print(f"{case.__name__:18} " + " ".join(f"{x:9.1f}" for x in figures), flush=True)


def make_scene(folder, options, last):
    """Return the scene that is asked for, to be closed at last, and what happens to it."""
    if options.cluster:
        how = {"echo": 1e6, "options": {}} if options.plain else {"echo": 5.0}
        cluster = last.enter_context(contextlib.closing(RabbitCluster(folder)))
        scene = ClusterScene(cluster, **how)
        return last.enter_context(contextlib.closing(scene)), [kill_a_node]
    how = {"echo": 1e6, "query": PLAIN} if options.plain else {"echo": 5.0}
    wanted = [case for case in CASES if not options.cases or case.__name__ in options.cases]
    return last.enter_context(contextlib.closing(Scene(folder, **how))), wanted


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--cluster", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("cases", nargs="*", default=[])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as last:
        scene, cases = make_scene(pathlib.Path(folder), options, last)
        until_all_work(scene)
        print(
            f"{'case':18} {'call p50':>9} {'call max':>9} {'cast p50':>9} {'cast max':>9}  seconds"
        )
        for case in cases:
            measure(case, scene, options.rounds)


if __name__ == "__main__":
    main()
