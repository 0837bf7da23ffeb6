"""What breaks when."""

import collections
import itertools
import json

import pytest

from roost.compute.virt.fake import faults as driver_faults
from roost.rig.chaos import schedule
from roost.rig.chaos.schedule import KINDS, FaultTargets
from roost.rig.plan import new_plan


@pytest.fixture
def shape(tmp_path):
    return FaultTargets.of(new_plan(tmp_path, cells=2, hosts=3, copies=2))


def draw(shape, seed=7, **values):
    return schedule.draw(seed, shape, **({"minutes": 60, "per_minute": 6} | values))


def test_the_same_seed_breaks_the_same_things_again(shape):
    assert draw(shape) == draw(shape)


def test_in_time_every_kind_comes_and_everything_is_broken(shape):
    drawn = draw(shape, minutes=200)
    assert {fault.kind for fault in drawn} == {*KINDS}
    for kind in KINDS:
        assert {f.target for f in drawn if f.kind == kind} == {*shape.targets(kind)}


def test_no_thing_is_broken_twice_at_once(shape):
    things = collections.defaultdict(list)
    for fault in draw(shape, minutes=15, per_minute=30):
        family = "process" if fault.kind in ("kill", "stop") else fault.kind
        things[family, fault.target].append(fault)
    for faults in things.values():
        assert all(one.until < other.at for one, other in itertools.pairwise(faults))


def test_the_rules_for_drivers_are_rules(shape):
    for fault in draw(shape, kinds=["driver"]):
        (rule,) = driver_faults.parse(f"[{json.dumps(fault.rule)}]")
        assert rule.host == fault.target


@pytest.mark.parametrize(
    ("only", "without", "chosen"),
    [
        ([], [], [*KINDS]),
        (["cut", "kill"], [], ["kill", "cut"]),
        ([], [kind for kind in KINDS if kind != "stop"], ["stop"]),
        (["cut", "kill"], ["cut"], ["kill"]),
    ],
)
def test_kinds_are_chosen(only, without, chosen):
    assert schedule.choose(only, without) == chosen
