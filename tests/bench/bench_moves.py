"""The cost of a stop, a start, a resize and a migration on a rig of real processes.

CPU seconds by kind of daemon, of each action until all servers rest.

    roost-rig up --bus amqp://guest:guest@127.0.0.1:5672 --db postgresql
    python -m tests.bench.bench_moves -n 100

Reports, and judges nothing: rates depend on who else uses the machine, CPU seconds much less.
"""

import argparse
import itertools
import pathlib
import time
from concurrent import futures

from roost import concurrency

concurrency.select([])

from roost.rig import boots
from roost.rig.boots import BootRequest
from roost.rig.client import Client
from roost.rig.install import IMAGE
from roost.rig.plan import Plan
from tests.bench import bench_boots, meters

AT_ONCE = 8  # requests


def main():
    asked = _arguments()
    plan = Plan.load(asked.state.resolve())
    client = Client(plan.endpoint)
    request = BootRequest(
        flavor=boots.choose(client.flavors(), "m1.tiny", "flavor"),
        image=boots.choose(client.images(), IMAGE, "image"),
        networks="none",
        prefix="bench",
    )
    print(f"{asked.servers} servers, {plan.database_host}, spin {1000 * meters.spin():.1f} ms")
    boots.boot(client, request, count=asked.servers, timeout=600)
    try:
        for flavor in itertools.islice(itertools.cycle(_flavors(client)), asked.rounds):
            for body, status in (
                ({"os-stop": None}, "SHUTOFF"),
                ({"os-start": None}, "ACTIVE"),
                ({"resize": {"flavorRef": flavor}}, "VERIFY_RESIZE"),
                ({"confirmResize": None}, "ACTIVE"),
                ({"migrate": None}, "VERIFY_RESIZE"),
                ({"revertResize": None}, "ACTIVE"),
            ):
                act = lambda what=body, to=status: _all(client, what, to)  # noqa: E731
                bench_boots.measure(plan, next(iter(body)), asked.servers, act)
    finally:
        boots.delete_all(client, timeout=600, show=lambda _left: None)


def _flavors(client):
    """Return two flavors with the same disk."""
    values = {"ram": 256, "vcpus": 1, "disk": 10}
    made = [
        client.post("/flavors", {"flavor": {**values, "name": f"bench-{time.time()}", "ram": ram}})
        for ram in (256, 512)
    ]
    return [one["flavor"]["id"] for one in made]


def _all(client, body, status):
    """Do something to all servers, and wait until all rest."""
    servers = [server["id"] for server in client.servers()]
    with futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda uuid: client.act(uuid, body), servers))
    until = time.monotonic() + 300
    while time.monotonic() < until:
        found = list(client.servers())
        if all(one["status"] == status for one in found):
            return
        time.sleep(0.5)
    raise SystemExit(f"not all servers are {status} after 300 s")


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", dest="servers", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--state", type=pathlib.Path, default=pathlib.Path(".rig"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
