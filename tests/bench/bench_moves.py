"""The cost of a stop and of a start on a rig of real processes: CPU seconds by kind of daemon.

    roost-rig up --bus amqp://guest:guest@127.0.0.1:5672 --db postgresql
    python -m tests.bench.bench_moves -n 100

Reports, and judges nothing: rates depend on who else uses the machine, CPU seconds much less.
"""

import argparse
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
        for _ in range(asked.rounds):
            for action, status in (("os-stop", "SHUTOFF"), ("os-start", "ACTIVE")):
                act = lambda one=action, to=status: _all(client, one, to)  # noqa: E731
                bench_boots.measure(plan, action, asked.servers, act)
    finally:
        boots.delete_all(client, timeout=600, show=lambda _left: None)


def _all(client, action, status):
    """Do something to all servers, and wait until all rest."""
    servers = [server["id"] for server in client.servers()]
    with futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda uuid: client.act(uuid, {action: None}), servers))
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
