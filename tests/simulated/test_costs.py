"""What users ask for costs so many statements, transactions and messages, alone and in a storm.

Counted in a calm world, by what is done for the request: reports of hosts, heartbeats and sweeps go
on all the time. A number that grows here is paid by every server of every cloud; one that falls is
to be written down.
"""

import collections

import pytest
import sqlalchemy as sa

from tests.simulation.fault_model import Calm
from tests.simulation.scenarios import ALWAYS, User
from tests.simulation.simulated_cloud import World

# Tasks that go on all the time, and reports of hosts: one of many servers.
PERIODIC = {
    *ALWAYS,
    "cells",
    "deleted groups",
    "greeting",
    "list_instances",
    "locate_instances",
    "reconcile",
    "renew_leases",
    "reports",
    "sweeper",
    "update_resource_stats",
}
STORM = 20
# (statements, transactions that write, messages and replies) of each server
ALONE = {
    "boot": (40, 8, 8),  # 6, 1 and 2 of them for its network, 2 for the quota of its user
    "stop": (10, 2, 3),
    "start": (10, 2, 3),
    "resize": (49, 8, 15),
    "confirm": (32, 4, 7),
    "migrate": (44, 7, 15),
    "revert": (40, 7, 12),
    "delete": (24, 5, 7),
}
LIVE = (59, 9, 20)  # a live migration
IN_A_STORM = (22.4, 3.6, 6.2)  # a boot; what is left are mostly the API, the network and the end


class Meter(Calm):
    """A calm world that counts what is done for requests of users."""

    def __init__(self):
        super().__init__()
        self.counts = collections.Counter()
        self.world = None
        self.at = None  # as of a reef

    def count(self, what):
        task = self.world.loop.task
        if task is not None and task.name not in PERIODIC and "check " not in task.name:
            self.counts[what] += 1

    def point(self, process, what):
        if what.startswith("after commit"):
            self.count("transactions")

    def delays(self, what):
        self.count("messages")
        return super().delays(what)

    def statement(self, *_args):
        if self.world.loop.task is not None and self.world.loop.task.within is not None:
            self.count("statements")

    def taken(self):
        found = tuple(self.counts[what] for what in ("statements", "transactions", "messages"))
        self.counts.clear()
        return found


@pytest.fixture
def metered():
    """A world in which all that is read once was read, and its user."""
    meter = Meter()
    with World(0, meter) as world:
        meter.world = world
        engines = world.servers.disks.engines.values()
        for engine in engines:
            sa.event.listen(engine, "before_cursor_execute", meter.statement)
        world.start()
        world.loop.run(world.loop.now + 2.5)
        user = User(world, meter)
        boot(world, user, 8)
        world.loop.run(world.loop.now + 10)
        meter.taken()
        yield world, user, meter
        for engine in engines:
            sa.event.remove(engine, "before_cursor_execute", meter.statement)


def boot(world, user, times):
    """Let a user send so many requests for a server at once, and wait for them."""
    names = []

    def ask(number):
        names.extend(user.boot(name=f"of{len(user.kept)}-{number}"))

    for number in range(times):
        world.loop.spawn(world.people, lambda number=number: ask(number), "errand")
    world.do(lambda: world.loop.sleep(0.5))
    world.do(lambda: [user.wait_for(name, "active") for name in names])
    return names


def test_alone(metered):
    world, user, meter = metered
    costs = {}

    def do(what, act, state):
        world.do(act)
        if state is not None:
            world.do(lambda: user.wait_for(name, state))
        world.loop.run(world.loop.now + 3)
        costs[what] = meter.taken()

    (name,) = boot(world, user, 1)
    costs["boot"] = meter.taken()
    do("stop", lambda: user.act(name, {"os-stop": None}), "stopped")
    do("start", lambda: user.act(name, {"os-start": None}), "active")
    do("resize", lambda: user.act(name, {"resize": {"flavorRef": "2"}}), "resized")
    do("confirm", lambda: user.act(name, {"confirmResize": None}), "active")
    do("migrate", lambda: user.act(name, {"migrate": None}), "resized")
    do("revert", lambda: user.act(name, {"revertResize": None}), "active")
    do("delete", lambda: user.delete(name), None)
    assert costs == ALONE


def test_a_live_migration(metered):
    world, user, meter = metered
    (name,) = boot(world, user, 1)
    meter.taken()
    live = {"os-migrateLive": {"host": None, "block_migration": "auto"}}
    world.do(lambda: user.act(name, live))
    world.do(lambda: user.wait_for(name, "active"))
    world.loop.run(world.loop.now + 3)
    assert meter.taken() == LIVE


def test_in_a_storm(metered):
    world, user, meter = metered
    boot(world, user, STORM)
    assert tuple(round(count / STORM, 1) for count in meter.taken()) == IN_A_STORM
