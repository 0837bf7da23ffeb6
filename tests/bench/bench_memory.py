"""What memory, rows and files a rig has while a storm of requests lasts: flat, or growing?

    roost-rig up --db postgresql --set conductor.purge_after=60
    python -m tests.bench.bench_memory --minutes 30

Each client boots a server, looks at it until it is there, lists all, changes its metadata, stops,
starts and deletes it, and asks for what is not there. Reports, and judges nothing.
"""

import argparse
import collections
import itertools
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
from tests.bench import memory, stored

VERSION = {"OpenStack-API-Version": "compute 2.96", "X-Auth-Token": "storm:storm"}
PATIENCE = 60.0  # seconds until a server is where it should be


def main():
    asked = _arguments()
    plan = Plan.load(asked.state.resolve())
    storm = Storm(plan.endpoint, _server(Client(plan.endpoint)), asked.clients)
    names = list(memory.by_daemon(plan))
    print("Rows of all databases, files below the rig's folder, MB of each daemon (PSS)")
    print(
        f"{'minute':>6}{'requests':>10}{'rows':>8}{'files':>7}",
        *(f"{name[-18:]:>19}" for name in names),
    )
    with storm:
        for minute in itertools.count():
            used = memory.by_daemon(plan)
            told = (f"{used.get(name, 0):19.1f}" for name in names)
            asked_for = sum(storm.answers.values())
            held = f"{stored.rows(plan):8}{stored.files(plan):7}"
            print(f"{minute:6}{asked_for:10}{held}", *told, flush=True)
            if minute >= asked.minutes:
                break
            time.sleep(60)
    print(dict(sorted(storm.answers.items(), key=str)))


class Storm:
    """Clients that live through servers' whole lives, one after the other, until the block ends."""

    def __init__(self, endpoint, server, clients):
        self._endpoint, self._server = endpoint, server
        self._ending = threading.Event()
        self.answers = collections.Counter()
        self._threads = [threading.Thread(target=self._live) for _ in range(clients)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_exc):
        self._ending.set()
        for thread in self._threads:
            thread.join()

    def _live(self):
        with requests.Session() as session:
            session.headers.update(VERSION)
            while not self._ending.is_set():
                self._one_life(session)

    def _one_life(self, session):
        made = self._ask(session, "POST", "/servers", {"server": self._server})
        if made.status_code != 202:
            time.sleep(1)
            return
        one = f"/servers/{made.json()['server']['id']}"
        if self._wait(session, one, "ACTIVE"):
            self._ask(session, "GET", "/servers/detail?limit=50")
            self._ask(session, "POST", f"{one}/metadata", {"metadata": {"a": "b" * 200}})
            self._ask(session, "POST", f"{one}/action", {"os-stop": None})
            self._wait(session, one, "SHUTOFF")
            self._ask(session, "GET", "/servers?status=ACTIVE&sort_key=display_name")
            self._ask(session, "GET", "/servers/ad7bb6bd-d979-441d-8571-64acf18086ed")
            self._ask(session, "POST", "/servers", {"server": {"name": ""}})
        self._ask(session, "DELETE", one)

    def _wait(self, session, path, status):
        """Look until a server is there; False: it will not be."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            shown = self._ask(session, "GET", path).json().get("server", {})
            if shown.get("status") in (status, "ERROR", None):
                return shown.get("status") == status
            time.sleep(0.1)
        return False

    def _ask(self, session, method, path, body=None):
        answer = session.request(method, self._endpoint + path, json=body, timeout=PATIENCE)
        self.answers[answer.status_code] += 1
        return answer


def _server(client):
    return {
        "name": "storm",
        "flavorRef": boots.choose(client.flavors(), "m1.tiny", "flavor"),
        "imageRef": boots.choose(client.images(), IMAGE, "image"),
        "networks": "none",
    }


def _arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--state", type=pathlib.Path, default=pathlib.Path(".rig"))
    parser.add_argument("--minutes", type=int, default=30)
    parser.add_argument("--clients", type=int, default=8)
    return parser.parse_args()


if __name__ == "__main__":
    main()
