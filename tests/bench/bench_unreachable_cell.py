"""Lists and boots of three cells, before one of them goes away, at that moment, and after it.

    python -m tests.bench.bench_unreachable_cell -n 40

A rig of real processes, with one cell behind ways that are closed, or swallow everything. A process
notices after five seconds and ``[cells] timeout`` at the latest; "from then on" begins after
both. Reports, and judges nothing.
"""

import argparse
import pathlib
import time
from concurrent import futures
from urllib.parse import urlsplit

import requests

from roost import concurrency

concurrency.select([])

from roost.rig import boots, services
from roost.rig.boots import BootRequest
from roost.rig.client import Client
from roost.rig.forwarder import Forwarder
from roost.rig.install import IMAGE
from tests.stories.real_rig import running

AT_ONCE = 4
OPTIONS = {"conductor": {"sweep_interval": 1.0}}
GONE = "cell3"
NOTICED = 10.0  # seconds: until all have looked, and [cells] timeout


def main():
    asked = _arguments()
    broker = services.RabbitMQ.find_or_start(asked.state)
    database = services.KINDS[asked.database].find_or_start(asked.state)
    ways = {
        f"bus/{GONE}": _way(broker),
        f"database/{GONE}": _way(database),
    }
    for way in ways.values():
        way.open()
    detours = {name: f"127.0.0.1:{way.port}" for name, way in ways.items()}
    size = {"cells": 3, "hosts": asked.hosts, "detours": detours}
    with running("threading", broker, database, overrides=OPTIONS, **size) as rig:
        _measure_all(Bench(Client(rig.plan.endpoint), asked), ways.values())


def _measure_all(bench, ways):
    print(f"{'':34}{'lists':^24}{'boots':^24}")
    print(f"{'':34}{'p50':>8}{'p99':>8}{'most':>8}{'p50':>8}{'p99':>8}{'most':>8}  ms")
    bench.boot()
    for name, go, come in (("closed", "close", "open"), ("black hole", "silence", "resume")):
        before = bench.tell("all three cells")
        for way in ways:
            getattr(way, go)()
        bench.tell_lists(f"{GONE} {name}: the first lists", bench.list_servers(AT_ONCE))
        bench.tell(f"{GONE} {name}: at that moment")
        time.sleep(NOTICED)
        after = bench.tell(f"{GONE} {name}: from then on")
        print(f"  p99 with / without: {after[0] / before[0]:.2f}  boots {after[1] / before[1]:.2f}")
        for way in ways:
            getattr(way, come)()
        bench.wait_for_all()


class Bench:
    """What users do, and how long it takes."""

    def __init__(self, client, asked):
        self._client = client
        self._count = asked.count
        self._wish = BootRequest(
            flavor=boots.choose(client.flavors(), "m1.tiny", "flavor"),
            image=boots.choose(client.images(), IMAGE, "image"),
            networks="none",
            prefix="bench",
        )
        self._all = 0

    def boot(self):
        """Boot servers that stay, in all cells."""
        boots.boot(self._client, self._wish, count=self._count, timeout=600)
        self._all = self._count

    def tell(self, name):
        """Measure lists and boots; return their p99."""
        lists = self.list_servers(5 * self._count)
        booted = boots.boot(self._client, self._wish, count=self._count, timeout=600)
        seconds = [server.seconds for server in booted if server.state == "ACTIVE"]
        print(f"{name:34}{_line(lists)}{_line(seconds)}  {boots.states(booted)}", flush=True)
        for server in booted:
            self._client.delete_server(server.id)
        return boots.percentile(lists, 99), boots.percentile(seconds, 99)

    def tell_lists(self, name, lists):
        print(f"{name:34}{_line(lists)}", flush=True)

    def list_servers(self, count):
        with futures.ThreadPoolExecutor(AT_ONCE) as pool:
            return list(pool.map(lambda _: self._list(), range(count)))

    def wait_for_all(self):
        """Wait until the cell is back and what was deleted is gone."""
        until = time.monotonic() + 120
        while time.monotonic() < until:
            found = self._get().json()["servers"]
            if len(found) <= self._all and all(one["status"] != "UNKNOWN" for one in found):
                return
            time.sleep(0.5)
        raise TimeoutError("the cell does not come back")

    def _list(self):
        begun = time.monotonic()
        self._get().raise_for_status()
        return time.monotonic() - begun

    def _get(self):
        return requests.get(
            f"{self._client.endpoint}/servers/detail",
            headers={"OpenStack-API-Version": "compute 2.69"},
            timeout=120,
        )


def _line(seconds):
    values = [boots.percentile(seconds, 50), boots.percentile(seconds, 99), max(seconds)]
    return "".join(f"{1000 * value:8.0f}" for value in values)


def _way(service):
    target = urlsplit(service.url(""))
    return Forwarder((target.hostname, target.port))


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", dest="count", type=int, default=40)
    parser.add_argument("--hosts", type=int, default=2, help="of each cell")
    parser.add_argument("--database", default="postgresql", help="postgresql or mariadb")
    parser.add_argument("--state", type=pathlib.Path, default=pathlib.Path(".services"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
