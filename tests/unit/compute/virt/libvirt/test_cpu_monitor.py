"""How busy a node is comes from libvirt's counters."""

import pytest

from roost.compute.virt.libvirt.cpu_monitor import NAME, CpuMonitor
from roost.compute.virt.libvirt.driver import LibvirtDriver
from roost.compute.virt.libvirt.settings import LibvirtSettings


class Counters:
    """Stands for a connection; counts as it is told."""

    def __init__(self, **times):
        self.times = times

    def getCPUStats(self, cpu, flags):  # noqa: N802 - as libvirt calls it
        assert (cpu, flags) == (-1, 0)
        return self.times

    def getInfo(self):  # noqa: N802
        return ["x86_64", 1000, 2, 2600, 1, 1, 2, 1]


@pytest.fixture
def node():
    return Counters(user=30, kernel=10, idle=50, iowait=10)


@pytest.fixture
def monitor():
    return CpuMonitor()


def test_at_first_shares_are_of_all_time(monitor, node):
    assert monitor.measure(node) == {
        "cpu.user.time": 30,
        "cpu.kernel.time": 10,
        "cpu.idle.time": 50,
        "cpu.iowait.time": 10,
        "cpu.user.percent": 30,
        "cpu.kernel.percent": 10,
        "cpu.idle.percent": 50,
        "cpu.iowait.percent": 10,
        "cpu.percent": 40,
        "cpu.frequency": 2600,
    }


def test_then_they_are_of_the_time_since_the_one_before(monitor, node):
    monitor.measure(node)
    node.times = {"user": 30, "kernel": 20, "idle": 80, "iowait": 10}
    found = monitor.measure(node)
    assert (found["cpu.percent"], found["cpu.idle.percent"]) == (25, 75)
    assert monitor.measure(node) == found  # as no time has passed


def test_a_node_that_was_started_anew_counts_anew(monitor, node):
    monitor.measure(node)
    node.times = {"user": 1, "kernel": 1, "idle": 2}
    assert monitor.measure(node)["cpu.percent"] == 50


def test_nothing_is_measured_unless_the_operator_asks_for_it(tmp_path, monkeypatch, node):
    def driver(*monitors):
        made = LibvirtDriver(LibvirtSettings(node="h1", folder=tmp_path, monitors=monitors))
        monkeypatch.setattr(made._connection, "call", lambda _what, do: do(node))
        return made

    assert "cpu" not in driver().collectors()
    assert driver(NAME).collectors()["cpu"].collect().metrics["cpu.percent"] == 40
