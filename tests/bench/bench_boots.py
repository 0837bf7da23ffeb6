"""The cost of a boot on a rig of real processes: CPU seconds by kind of daemon, rates, latency.

    roost-rig up --bus amqp://guest:guest@127.0.0.1:5672 --db postgresql
    python -m tests.bench.bench_boots -n 200

Reports, and judges nothing: rates depend on who else uses the machine, CPU seconds much less.
"""

import argparse
import collections
import pathlib
import time

import psutil

from roost import concurrency

concurrency.select([])

from roost.rig import boots
from roost.rig.boots import BootRequest
from roost.rig.client import Client
from roost.rig.install import IMAGE
from roost.rig.plan import Plan
from roost.rig.processes import Supervisor

SERVERS = {"rabbitmq": "beam.smp", "postgresql": "postgres", "mariadb": "mariadbd"}


def main():
    asked = _arguments()
    plan = Plan.load(asked.state.resolve())
    client = Client(plan.endpoint)
    request = BootRequest(
        flavor=boots.choose(client.flavors(), "m1.tiny", "flavor"),
        image=boots.choose(client.images(), IMAGE, "image"),
        networks=asked.networks,
        prefix="bench",
    )
    print(f"{asked.servers} servers, {boots.AT_ONCE} requests at once, {plan.database_host}")
    measure(plan, "boot", asked.servers, lambda: _boot(client, request, asked.servers))
    measure(plan, "delete", asked.servers, lambda: _delete(client))


def _boot(client, request, count):
    servers = boots.boot(client, request, count=count, timeout=600)
    print(f"  states     {boots.states(servers)}")
    for name, values in (
        ("accepted", [server.accepted - server.asked for server in servers]),
        ("active", [server.seconds for server in servers if server.state == "ACTIVE"]),
    ):
        p50, p99 = (1000 * boots.percentile(values, percent) for percent in (50, 99))
        print(f"  {name:<10} p50 {p50:.0f} ms  p99 {p99:.0f} ms")


def _delete(client):
    left = boots.delete_all(client, timeout=600, show=lambda _left: None)
    print(f"  left       {left}")


def measure(plan, what, count, work):
    groups = _groups(plan)
    before, began = _seconds(groups), time.monotonic()
    work()
    wall, after = time.monotonic() - began, _seconds(groups)
    spent = {group: after[group] - before[group] for group in groups}
    print(f"{what}: {count / wall:.1f}/s, {1000 * sum(spent.values()) / count:.1f} ms CPU each")
    for group, seconds in sorted(spent.items(), key=lambda item: -item[1]):
        print(f"  {group:<16} {1000 * seconds / count:6.2f} ms")


def _groups(plan):
    """Return processes by kind: those of the rig with their workers, and the servers under it."""
    groups = collections.defaultdict(list)
    programs = {daemon.name: daemon.program for daemon in plan.daemons}
    for found in Supervisor(plan.rig, plan.state).list_processes():
        parent = psutil.Process(found.pid)
        groups[programs[found.name]] += [parent, *parent.children(recursive=True)]
    for process in psutil.process_iter(["name"]):
        for server, name in SERVERS.items():
            if process.info["name"] == name:
                groups[server].append(process)
    return groups


def _seconds(groups):
    return {group: sum(map(_of_one, processes)) for group, processes in groups.items()}


def _of_one(process):
    try:
        times = process.cpu_times()
        reaps = process.name() == SERVERS["postgresql"]  # its backends come and go
    except psutil.NoSuchProcess:
        return 0.0
    reaped = times.children_user + times.children_system if reaps else 0.0
    return times.user + times.system + reaped


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", dest="servers", type=int, default=100)
    parser.add_argument("--networks", default="none", help="none or auto")
    parser.add_argument("--state", type=pathlib.Path, default=pathlib.Path(".rig"))
    return parser.parse_args()


if __name__ == "__main__":
    main()
