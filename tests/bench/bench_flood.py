"""What a flood of one project does to the requests of another: latency, answers, memory.

    roost-rig up --bus amqp://guest:guest@127.0.0.1:5672 --db postgresql
    python -m tests.bench.bench_flood --seconds 20 --crowd 200

Reports, and judges nothing. Floods are closed loops: each of the crowd asks again at once.
"""

import argparse
import asyncio
import collections
import json
import pathlib
import threading
import time

import requests

from roost import concurrency

concurrency.select([])

from roost.rig import boots
from roost.rig.client import Client
from roost.rig.install import IMAGE
from roost.rig.plan import Plan
from tests.bench import memory
from tests.bench.worker_processes import crew

GOOD, FLOOD = "good:good", "flood:flood"
VERSION = {"OpenStack-API-Version": "compute 2.96"}
JSON = {"Content-Type": "application/json"}
QUIET = "nothing"


def main():
    asked = _arguments()
    plan = Plan.load(asked.state.resolve())
    floods = {QUIET: []} | _floods(Client(plan.endpoint))
    before = memory.by_daemon(plan)
    print(f"{asked.crowd} connections flood for {asked.seconds} s each; latency of other requests")
    print(f"{'flood of':<12}{'p50 ms':>8}{'p99 ms':>8}{'max ms':>8}  answers to the others | to it")
    for name, requests_ in floods.items():
        _phase(plan.endpoint, asked, name, requests_)
    after = memory.by_daemon(plan)
    print("memory, MB (PSS):                      before   after")
    for name in before:
        print(f"  {name:<34} {before[name]:8.1f} {after.get(name, 0):8.1f}")


def _floods(client):
    """Return what each flood sends: (method, path, body) in turn."""
    server = {
        "name": "flood",
        "flavorRef": boots.choose(client.flavors(), "m1.tiny", "flavor"),
        "imageRef": boots.choose(client.images(), IMAGE, "image"),
        "networks": "none",
    }
    good = json.dumps({"server": server}).encode()
    return {
        "lists": [("GET", "/servers/detail", None), ("GET", "/flavors/detail", None)],
        "bad": [
            ("POST", "/servers", b"{" * 1000),
            ("POST", "/servers", b'{"server": {"name": "\\u0000"}}'),
            ("POST", "/servers", b" " * 200_000),
            ("GET", "/servers/nobody", None),
            ("GET", "/servers?limit=x", None),
            ("PATCH", "/nowhere", b"[]"),
        ],
        "boots": [("POST", "/servers", good)],
    }


def _phase(endpoint, asked, name, flood):
    jobs = [(endpoint, flood, asked.crowd // 2, asked.seconds)] * 2 if flood else []
    with crew(_flood, jobs) as crowd:
        crowd.go_on()
        seconds, answers = _ask(endpoint, asked.seconds - 1)
        told = sum((collections.Counter(one) for one in crowd.wait()), collections.Counter())
    p50, p99 = (1000 * boots.percentile(seconds, percent) for percent in (50, 99))
    rate = sum(told.values()) / asked.seconds
    print(
        f"{name:<12}{p50:8.0f}{p99:8.0f}{1000 * max(seconds):8.0f}  {dict(answers)}"
        f" | {rate:.0f}/s {dict(sorted(told.items(), key=str))}",
        flush=True,
    )


def _ask(endpoint, seconds):
    """Ask like a handful of clients do; return how long each answer took, and which they were."""
    taken, answers = [], collections.Counter()
    until = time.monotonic() + seconds

    def client():
        with requests.Session() as session:
            while time.monotonic() < until:
                began = time.monotonic()
                try:
                    answer = session.get(
                        f"{endpoint}/servers/detail",
                        headers={"X-Auth-Token": GOOD, **VERSION},
                        timeout=60,
                    ).status_code
                except requests.RequestException as error:
                    answer = type(error).__name__
                taken.append(time.monotonic() - began)
                answers[answer] += 1
                time.sleep(0.05)

    clients = [threading.Thread(target=client) for _ in range(4)]
    for one in clients:
        one.start()
    for one in clients:
        one.join()
    return taken, answers


def _flood(pipe, endpoint, flood, connections, seconds):
    """Flood, in a process of its own; tell how often which answer came."""
    pipe.send(None)
    pipe.recv()
    pipe.send(asyncio.run(_crowd(endpoint, flood, connections, seconds)))


async def _crowd(endpoint, flood, connections, seconds):
    import aiohttp

    told, until = collections.Counter(), time.monotonic() + seconds

    async def one(session, number):
        while time.monotonic() < until:
            method, path, body = flood[number % len(flood)]
            number += 1
            try:
                async with session.request(method, endpoint + path, data=body) as answer:
                    await answer.read()
                    told[answer.status] += 1
            except (aiohttp.ClientError, OSError, TimeoutError) as error:
                told[type(error).__name__] += 1

    headers = {"X-Auth-Token": FLOOD, **VERSION, **JSON}
    connector = aiohttp.TCPConnector(limit=connections)
    async with aiohttp.ClientSession(headers=headers, connector=connector) as session:
        await asyncio.gather(*(one(session, number) for number in range(connections)))
    return dict(told)


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--state", type=pathlib.Path, default=pathlib.Path(".rig"))
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--crowd", type=int, default=200)
    return parser.parse_args()


if __name__ == "__main__":
    main()
