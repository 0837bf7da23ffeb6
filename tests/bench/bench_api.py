"""What requests cost the API alone: no sockets, a bus that records, two cells on SQLite.

    python -m tests.bench.bench_api --seconds 3
    python -m tests.bench.bench_api --beside ../before     # and another source tree, by turns
    python -m tests.bench.bench_api growth                 # of one server, in ever larger clouds

One caller, so requests/s is what one thread of a worker does. CPU is that of the process,
with the threads that ask the cells. Reports, and judges nothing.
"""

import argparse
import collections
import datetime
import gc
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from roost import concurrency

concurrency.select([])

import falcon.testing

from roost import states
from roost.api import microversions
from roost.api.dependencies import ApiOptions
from roost.db.api import build_requests, instance_mappings
from roost.db.cell import instances
from roost.objects import NetworkInfo
from tests import api_harness
from tests.bench import growth
from tests.bench.meters import percentile, spin, table
from tests.builders import CELL1, CELL2, NOW, a_spec, a_uuid, a_vif, a_wish, an_instance

SERVERS = 1000
OLDEST, NEWEST = 1, microversions.MAXIMUM
UNLIMITED = dict.fromkeys(ApiOptions().quota, -1)


def main():
    asked = _arguments()
    if asked.what == "growth":
        _measure_growth(asked)
    elif asked.json:
        print(json.dumps(_measure(asked)))
    elif asked.beside:
        _compare(asked)
    else:
        found = _measure(asked)
        table("Requests to the API", [{"request": name, **row} for name, row in found.items()])


def _measure_growth(asked):
    options = ApiOptions(quota=UNLIMITED)
    with tempfile.TemporaryDirectory() as folder, api_harness.made_in(folder, options) as world:
        rows = list(growth.measure(world, lambda ask: _least(ask, asked)))
    table(f"CPU ms of requests about one server; spin {1000 * spin():.1f} ms", rows)


def _least(ask, asked):
    """Return the least CPU ms of some rounds: what others do on this machine only adds to it."""
    ask()
    return min(_timed(ask, asked.seconds / asked.rounds)["CPU ms"] for _ in range(asked.rounds))


def _compare(asked):
    """Measure two trees by turns, so that what else the machine does weighs on both alike."""
    here = pathlib.Path(__file__).parents[2]
    rounds = collections.defaultdict(list)
    for _ in range(asked.rounds):
        for tree in (asked.beside.resolve(), here):
            rounds[tree].append(_run(tree, asked))
    rows = []
    for name in rounds[here][0]:
        before, after = (
            statistics.median(one[name]["CPU ms"] for one in rounds[tree] if name in one)
            for tree in (asked.beside.resolve(), here)
        )
        rows.append(
            {
                "request": name,
                "CPU ms before": round(before, 2),
                "after": round(after, 2),
                "ratio": round(after / before, 2),
            }
        )
    table("CPU of requests, before and after", rows)


def _run(tree, asked):
    told = subprocess.run(
        [
            *(sys.executable, "-W", "ignore", __file__, "--json"),
            *("--seconds", str(asked.seconds), "--only", asked.only),
        ],
        env={**os.environ, "PYTHONPATH": str(tree)},
        cwd=tree,
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(told.stdout.splitlines()[-1])


def _measure(asked):
    options = ApiOptions(max_limit=SERVERS, quota=UNLIMITED)
    with tempfile.TemporaryDirectory() as folder, api_harness.made_in(folder, options) as world:
        server = _fill(world)
        gc.collect()
        gc.freeze()  # as daemons do when they have started
        return {
            f"{name}, {age}": _repeat(world, asked.seconds, minor, *request)
            for name, request in _requests(server).items()
            if asked.only in name
            for age, minor in (("oldest", OLDEST), ("newest", NEWEST))
        }


def _requests(server):
    """Return method, path and body by name; a body is made for the version that it is sent in."""
    return {
        "GET versions": ("GET", "/v2.1", None),
        "GET flavors/detail": ("GET", "/v2.1/flavors/detail", None),
        "GET server": ("GET", f"/v2.1/servers/{server}", None),
        f"GET servers/detail, {SERVERS}": ("GET", "/v2.1/servers/detail", None),
        f"GET servers, {SERVERS}": ("GET", "/v2.1/servers", None),
        "POST servers": ("POST", "/v2.1/servers", _body),
    }


def _body(minor):
    server = {
        "name": "new",
        "flavorRef": "1",
        "imageRef": api_harness.IMAGE,
        "metadata": {"a": "b"},
    }
    return {"server": server | ({"networks": "none"} if minor > OLDEST else {})}


def _repeat(world, seconds, minor, method, path, body):
    """Ask for a while; return what one request took."""
    headers = {
        "X-Auth-Token": api_harness.ALICE,
        "OpenStack-API-Version": f"compute 2.{minor}",
        "Content-Type": "application/json",
    }
    text = json.dumps(body(minor)) if body else ""

    def ask():
        environ = falcon.testing.create_environ(path, method=method, headers=headers, body=text)
        status = []
        b"".join(world.client.app(environ, lambda line, _headers, _info=None: status.append(line)))
        return status[0]

    status = ask()
    if not status.startswith("2"):
        raise RuntimeError(f"{method} {path} in 2.{minor}: {status}")
    return _timed(ask, seconds)


def _timed(ask, seconds):
    taken, began, cpu = [], time.perf_counter(), time.process_time()
    while sum(taken) < seconds:
        moment = time.perf_counter()
        ask()
        taken.append(time.perf_counter() - moment)
    spent, wall = time.process_time() - cpu, time.perf_counter() - began
    return {
        "requests/s": round(len(taken) / wall, 1),
        "CPU ms": round(1000 * spent / len(taken), 3),
        "p50 ms": round(1000 * percentile(taken, 50), 2),
        "p99 ms": round(1000 * percentile(taken, 99), 2),
    }


def _fill(world):
    """Place servers in both cells, each of a request of its own; return the uuid of one."""
    found = [
        an_instance(
            vm_state=states.ACTIVE,
            task_state=None,
            host=host,
            metadata={"a": "b"},
            tags=["red"],
            uuid=a_uuid(),
            created_at=NOW + datetime.timedelta(seconds=number),
            updated_at=NOW + datetime.timedelta(seconds=number + 3),
            launched_at=NOW + datetime.timedelta(seconds=number + 2),
            network_info=NetworkInfo.of(vifs=[a_vif(ip=f"10.0.{number >> 8}.{number & 255}")]),
        )
        for number in range(SERVERS // 2)
        for host in ("h1", "h2")
    ]
    for cell, mine in ((CELL1, found[::2]), (CELL2, found[1::2])):
        with world.databases[cell].begin() as session:
            for instance in mine:
                instances.create(session, instance)
        with world.api_db.begin() as session:
            for instance in mine:
                _map(session, instance, cell)
    return found[0].uuid


def _map(session, instance, cell):
    spec = a_spec()
    build_requests.create(session, [a_wish(spec, instance=instance)], spec=spec)
    build_requests.forget(session, instance.uuid)
    instance_mappings.map_to_cell(session, instance.uuid, cell)


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="?", choices=("requests", "growth"), default="requests")
    parser.add_argument("--seconds", type=float, default=3, help="of each kind of request")
    parser.add_argument("--beside", type=pathlib.Path, help="another source tree")
    parser.add_argument("--rounds", type=int, default=3, help="of both trees")
    parser.add_argument("--only", default="", help="part of the name of a request")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
