"""Collectors: what a host has beside what its hypervisor reports, and collectors that misbehave."""

import dataclasses
import datetime
import math
import threading

import pytest

from roost import conf, exception
from roost.compute import collectors as module
from roost.compute.collectors import Collected, Collectors, DriverCollector, offered_by
from roost.objects import ResourceInventory
from tests.builders import a_numa_cell, a_pci_pool, a_provider, an_inventory
from tests.unit.compute.conftest import RESOURCES

FPGA = ResourceInventory.of(resource_class="CUSTOM_FPGA", total=4, max_unit=4)
FOUND = Collected((FPGA,), ("CUSTOM_FAST",), ("rack7",), {"heat": 21.5})


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


class Collector:
    interval = 10.0

    def __init__(self):
        self.answer = lambda: FOUND

    def collect(self):
        return self.answer()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def collector():
    return Collector()


@pytest.fixture
def asked(collector, clock):
    """The collectors of a host, of which one has answered."""
    asked = Collectors({"mine": collector}, clock=clock)
    assert asked.ask("mine")
    return asked


def what(collectors):
    has = collectors.added_to(RESOURCES)
    return Collected(has.inventories, has.traits, has.labels, collectors.metrics())


def test_what_a_collector_finds_the_host_has(asked):
    assert what(asked) == FOUND


def test_the_same_answer_again_is_no_news(asked):
    assert not asked.ask("mine")


def test_metrics_are_no_news_but_stay_current(asked, collector):
    collector.answer = lambda: dataclasses.replace(FOUND, metrics={"heat": 22.0})
    assert not asked.ask("mine")
    assert asked.metrics() == {"heat": 22.0}
    collector.answer = lambda: dataclasses.replace(FOUND, labels=("rack8",))
    assert asked.ask("mine")


class Driver:
    """A driver with collectors of what changes."""

    disk_gb, pools, memory_mb = 50, (a_pci_pool(),), 4096

    def collectors(self):
        return {
            "node": DriverCollector(lambda: Collected(memory_mb=self.memory_mb), 60.0),
            "disk": DriverCollector(lambda: Collected(disk_gb=self.disk_gb), 60.0),
            "pci": DriverCollector(lambda: Collected(pci_pools=self.pools), 60.0),
        }


def test_what_a_driver_finds_later_replaces_what_it_described():
    driver, options = Driver(), conf.of({"compute": {"collectors": []}})
    collectors = Collectors.from_conf(options, node="n1", driver=driver)
    assert list(collectors.intervals()) == ["driver.node", "driver.disk", "driver.pci"]
    assert collectors.ask("driver.disk")
    has = collectors.added_to(RESOURCES)
    assert has == dataclasses.replace(RESOURCES, disk_gb=50)
    assert collectors.ask("driver.pci")
    driver.disk_gb, driver.pools = -1, ()
    assert not collectors.ask("driver.disk")
    assert collectors.ask("driver.pci")
    assert collectors.added_to(RESOURCES) == has
    assert collectors.ask("driver.node")
    assert collectors.added_to(RESOURCES) == dataclasses.replace(has, memory_mb=4096)


def test_a_part_of_a_driver_that_hangs_stops_neither_the_others_nor_the_report(monkeypatch):
    monkeypatch.setattr(module, "_PATIENCE", 0.05)
    go_on, driver = threading.Event(), Driver()
    offered = offered_by(driver)
    collectors = Collectors(offered)
    for name in offered:
        assert collectors.ask(name)
    offered["driver.disk"].collect = lambda: go_on.wait(10) and Collected()
    driver.pools = ()
    assert [collectors.ask(name) for name in offered] == [False, False, True]
    has = collectors.added_to(RESOURCES)
    assert (has.disk_gb, has.pci_pools) == (50, ())
    go_on.set()


@pytest.mark.parametrize(
    "answer",
    [
        lambda: 1 / 0,
        lambda: None,
        lambda: Collected((ResourceInventory.of(resource_class="X", total=-1, max_unit=1),)),
        lambda: Collected((ResourceInventory.of(resource_class="gpu", total=1, max_unit=1),)),
        lambda: Collected((an_inventory("VCPU", 4),)),
        lambda: Collected((an_inventory("CUSTOM_A", 4, min_unit=3, step_size=5),)),
        lambda: Collected(providers=(a_provider("gpu0", VGPU=-1),)),
        lambda: Collected(providers=(a_provider("gpu0"), a_provider("gpu0"))),
        lambda: Collected(providers=(a_provider(""),)),
        lambda: Collected(traits=("fast",)),
        lambda: Collected(traits=("HW_CPU_X86_AVX2000",)),
        lambda: Collected(metrics={"heat": math.nan}),
    ],
)
def test_after_a_failure_or_a_wrong_answer_the_last_one_stays(asked, collector, answer, caplog):
    collector.answer = answer
    assert not asked.ask("mine")
    assert what(asked) == FOUND
    assert "the collector mine failed; its last answer stays" in caplog.text


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"inventories": (an_inventory("CUSTOM_A", 4, reserved=5),)}, "5 of 4 reserved"),
        ({"inventories": (an_inventory("CUSTOM_A", 4),) * 2}, "two inventories of CUSTOM_A"),
        (
            {"inventories": (ResourceInventory(resource_class="CUSTOM_A"),)},
            "has no allocation_ratio",
        ),
        ({"inventories": (an_inventory("CUSTOM_A", 2**31),)}, "CUSTOM_A cannot have such a total"),
        ({"inventories": ({"CUSTOM_A": 4},)}, "dict is no ResourceInventory"),
        ({"labels": ("x" * 5000,)}, "the label 'xxxxxxxxxxxxxxxxxxxx' is no text of 1 to 255"),
        ({"labels": (7,)}, "the label '7' is no text"),
        ({"metrics": {"heat": "hot"}}, "the metric heat is no number: 'hot'"),
        ({"metrics": {"x" * 300: 1.0}}, "has no name of 1 to 255 characters"),
        ({"vcpus": 2**70}, "vcpus is no number from 0 to 2147483647"),
        ({"traits": (7,)}, "'7' is no trait"),
        ({"numa_cells": (a_numa_cell(pcpus=[10**6]),)}, "NUMA cell 0: CPUs are from 0 to 65535"),
        ({"pci_pools": (a_pci_pool(count=-1),)}, "the count of a pool of PCI devices"),
    ],
)
def test_a_wrong_answer_is_refused_in_words(asked, collector, answer, words, caplog):
    collector.answer = lambda: Collected(**answer)
    assert not asked.ask("mine")
    assert what(asked) == FOUND
    (line,) = caplog.messages
    assert words in line


def test_one_server_may_have_all_of_what_has_no_greatest_amount(asked, collector):
    collector.answer = lambda: Collected((ResourceInventory.of(resource_class="VGPU", total=4),))
    assert asked.ask("mine")
    (inventory,) = asked.added_to(RESOURCES).inventories
    assert (inventory.total, inventory.max_unit) == (4, 4)


def test_one_that_hangs_is_asked_once_and_its_measurements_become_too_old(
    asked, collector, clock, monkeypatch
):
    monkeypatch.setattr(module, "_PATIENCE", 0.05)
    go_on, calls = threading.Event(), []

    def hang():
        calls.append(1)
        assert go_on.wait(10)
        return Collected(labels=("rack8",))

    collector.answer = hang
    assert not any(asked.ask("mine") for _ in range(3))
    assert what(asked) == FOUND
    clock.now += 1000
    assert asked.metrics() == {}
    assert asked.added_to(RESOURCES).inventories == (FPGA,)
    go_on.set()
    monkeypatch.setattr(module, "_PATIENCE", 10)
    assert asked.ask("mine")
    assert (asked.added_to(RESOURCES).labels, calls) == (("rack8",), [1])


def test_what_a_silent_collector_said_last_is_marked_as_old(clock):
    answering, failing = Collector(), Collector()
    failing.answer = lambda: 1 / 0
    both = Collectors({"answering": answering, "failing": failing}, clock=clock)
    for name in both.intervals():
        both.ask(name)
    assert both.stale() == {}
    answering.answer = failing.answer
    clock.now += 1000
    assert not both.ask("answering")
    stale = both.stale()
    age = datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(stale["answering"])
    assert (stale["failing"], age < datetime.timedelta(hours=1)) == ("", True)
    assert both.added_to(RESOURCES).inventories == (FPGA,)
    answering.answer = lambda: FOUND
    both.ask("answering")
    assert list(both.stale()) == ["failing"]


def test_parts_may_belong_to_parts_of_another_collector_but_not_to_none(caplog):
    first, second = Collector(), Collector()
    first.answer = lambda: Collected(providers=(a_provider("NUMA0"),))
    of_others = (a_provider("gpu0", parent="NUMA0", VGPU=2), a_provider("gpu1", parent="NUMA1"))
    second.answer = lambda: Collected(providers=of_others)
    both = Collectors({"first": first, "second": second})
    assert both.ask("first")
    assert both.ask("second")
    for _ in range(2):
        assert [one.name for one in both.added_to(RESOURCES).providers] == ["NUMA0", "gpu0"]
    assert caplog.text.count("the provider gpu1 is left out: its parent NUMA1 is unknown") == 1


def test_of_two_that_name_a_class_the_later_one_counts():
    first, second = Collector(), Collector()
    fewer = ResourceInventory.of(resource_class="CUSTOM_FPGA", total=2, max_unit=2)
    second.answer = lambda: Collected((fewer,))
    both = Collectors({"first": first, "second": second})
    for name in both.intervals():
        both.ask(name)
    assert both.added_to(RESOURCES).inventories == (fewer,)


def test_one_that_is_not_there_is_named():
    options = conf.of({"compute": {"collectors": ["phantom"]}})
    with pytest.raises(exception.Invalid, match="collectors = phantom: no entry point"):
        Collectors.from_conf(options, node="n1")
