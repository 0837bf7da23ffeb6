"""How faults are made and healed, and when."""

import dataclasses
import signal
import threading

import pytest

from roost import exception
from roost.rig.chaos import faults
from roost.rig.chaos.breaker import FaultInjector
from roost.rig.chaos.schedule import Fault
from tests.stories.cloud import wait_until


class Recorder:
    """Notes what is called; fails at what it is told to."""

    def __init__(self, name, log, failing=()):
        self._name, self._log, self._failing = name, log, failing

    def __getattr__(self, method):
        def call(*arguments):
            self._log.append((f"{self._name}.{method}", *arguments))
            if method in self._failing:
                raise exception.Unavailable(f"no {method} today")

        return call


@pytest.fixture
def log():
    return []


@pytest.fixture
def ground(log):
    return faults.Ground(
        daemons=Recorder("daemons", log),
        broker=Recorder("broker", log),
        lay_buses=lambda: log.append(("lay_buses",)),
        database=Recorder("database", log),
        ways={"bus/cell1": Recorder("way", log)},
        ballast=Recorder("ballast", log),
        drivers=Recorder("drivers", log),
        evacuations=Recorder("evacuations", log),
    )


RULE = {"step": "spawn", "kind": "crash"}


@pytest.mark.parametrize(
    ("fault", "made", "healed"),
    [
        (
            Fault(1, 0, 0, "kill", "api"),
            [("daemons.signal", "api", "KILL")],
            [("daemons.start_process", "api")],
        ),
        (
            Fault(1, 0, 0, "stop", "api"),
            [("daemons.signal", "api", "STOP")],
            [("daemons.signal", "api", "CONT")],
        ),
        (
            Fault(1, 0, 0, "broker-restart", "broker", "killed"),
            [("broker.halt", signal.SIGKILL)],
            [("broker.revive",)],
        ),
        (
            Fault(1, 0, 0, "broker-wipe", "broker"),
            [("broker.halt", signal.SIGKILL), ("broker.forget",)],
            [("broker.revive",), ("lay_buses",)],
        ),
        (
            Fault(1, 0, 0, "database-restart", "database", "ended"),
            [("database.halt", None)],
            [("database.revive",)],
        ),
        (
            Fault(1, 0, 0, "cut", "bus/cell1", "refused"),
            [("way.close",)],
            [("way.resume",), ("way.open",)],
        ),
        (
            Fault(1, 0, 0, "cut", "bus/cell1", "silent"),
            [("way.silence",)],
            [("way.resume",), ("way.open",)],
        ),
        (Fault(1, 0, 0, "fill", "h1"), [("ballast.fill", "h1")], [("ballast.empty", "h1")]),
        (
            Fault(5, 0, 0, "driver", "h1", "crash", RULE),
            [("drivers.add", 5, RULE)],
            [("drivers.remove", 5)],
        ),
        (
            Fault(1, 0, 0, "evacuate", "h1"),
            [("daemons.signal", "h1", "KILL"), ("evacuations.begin", "h1")],
            [("evacuations.end", "h1"), ("daemons.start_process", "h1")],
        ),
    ],
    ids=lambda value: str(value) if isinstance(value, Fault) else "",
)
def test_a_fault_is_made_and_healed(ground, log, fault, made, healed):
    faults.make(ground, fault)
    assert log == made
    log.clear()
    faults.heal(ground, fault)
    assert log == healed


def test_a_fault_is_made_in_time_and_healed_when_it_has_lasted(ground, log):
    told = []
    breaker = FaultInjector(ground, [Fault(1, 0.0, 0.01, "kill", "api")], tell=told.append)
    breaker.start()
    wait_until(lambda: len(told) == 2, "made and healed")
    (made,) = breaker.made
    assert made.began < made.healed
    assert [name for name, *_ in log] == ["daemons.signal", "daemons.start_process"]
    assert breaker.in_force() == []


def test_the_end_heals_at_once_and_makes_nothing_more(ground, log):
    broken = threading.Event()
    schedule = [Fault(1, 0.0, 600, "kill", "api"), Fault(2, 600, 1, "stop", "api")]
    breaker = FaultInjector(ground, schedule, tell=lambda _made: broken.set())
    breaker.start()
    assert broken.wait(60)
    assert [str(made.fault) for made in breaker.in_force()] == ["kill api"]
    breaker.heal_all()
    assert log == [("daemons.signal", "api", "KILL"), ("daemons.start_process", "api")]


def test_a_fault_that_cannot_be_made_is_told_and_healed_all_the_same(ground, log):
    broken = dataclasses.replace(ground, database=Recorder("database", log, ["halt"]))
    breaker = FaultInjector(
        broken, [Fault(1, 0.0, 0, "database-restart", "database")], tell=log.append
    )
    breaker.start()
    breaker.heal_all()
    (made,) = breaker.made
    assert "no halt today" in made.failed
    assert ("database.revive",) in log


def test_a_thing_that_is_being_healed_is_broken_again_only_when_it_is_whole(ground, log):
    schedule = [
        Fault(1, 0.0, 0.05, "broker-wipe", "broker"),
        Fault(2, 0.01, 0.0, "broker-restart", "broker", "killed"),
    ]
    told = []
    breaker = FaultInjector(ground, schedule, tell=told.append)
    breaker.start()
    wait_until(lambda: len(told) == 4, "both made and healed")
    assert [name for name, *_ in log] == [
        "broker.halt", "broker.forget", "broker.revive", "lay_buses",
        "broker.halt", "broker.revive",
    ]  # fmt: skip
