"""What a host says of itself beyond its instances."""

import dataclasses
import datetime

import pytest

from roost import conf
from roost.compute.collectors import Collectors, DriverCollector, offered_by
from roost.compute.host_report import HostSettings
from roost.compute.resource_tracker import ResourceTracker
from roost.compute.virt.driver import Load
from roost.compute.virt.fake.driver import FakeDriver
from roost.compute.virt.fake.faults import Faults
from tests.builders import CELL1, a_numa_cell, a_pci_pool
from tests.unit.compute.conftest import RESOURCES, SETTINGS

RICH = dataclasses.replace(
    RESOURCES,
    pcpus=4,
    architectures=("x86_64", "i686"),
    capabilities={"hypervisor_hostname": "h1", "cpu_info:vendor": "Intel"},
    traits=("HW_CPU_X86_AVX2",),
    labels=("rack7", "pool1"),
    numa_cells=(a_numa_cell(),),
    pci_pools=(a_pci_pool(),),
)


class Silent:
    """A driver that measures nothing."""

    def resources(self):
        return RICH


def report(driver, read=None, **settings):
    collectors = Collectors(offered_by(driver))
    tracker = ResourceTracker(
        driver,
        settings=dataclasses.replace(SETTINGS, **settings),
        collectors=collectors,
        on_change=lambda: None,
    )
    tracker.ask_collectors(collectors.intervals())
    tracker.locate(cell_uuid=CELL1)
    tracker.fill([])
    tracker.set_read_parts(read)
    return tracker.report()


@pytest.fixture
def driver(tmp_path):
    return FakeDriver(RICH, folder=tmp_path, faults=Faults(None, host="h1"), metrics={"load": 0.5})


def test_what_the_driver_knows_of_the_node_is_reported(driver):
    found = report(driver)
    assert found.amount("PCPU") == RICH.pcpus
    for name in ("architectures", "capabilities", "numa_cells", "pci_pools"):
        told, known = getattr(found, name), getattr(RICH, name)
        assert told == (list(known) if isinstance(known, tuple) else known), name


def test_what_only_operators_ask_for_is_reported(driver):
    booted_at = datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)
    driver._resources = dataclasses.replace(RICH, cpu_info={"arch": "x"}, booted_at=booted_at)
    assert (report(driver).cpu_info, report(driver).booted_at) == ('{"arch": "x"}', booted_at)


def test_what_node_and_driver_can_do_are_traits(driver):
    found = report(driver).traits
    assert {"HW_CPU_X86_AVX2", "COMPUTE_NET_ATTACH_INTERFACE", "CUSTOM_COMPUTE_PAUSE"} < {*found}
    assert found == sorted(found)


def test_labels_of_operator_and_driver_come_together(driver):
    assert report(driver, labels=("rack7", "east")).labels == ["east", "pool1", "rack7"]


def test_what_the_driver_measures_is_reported(driver):
    assert report(driver).metrics == {"load": 0.5}


@pytest.mark.parametrize(
    ("read", "labels", "metrics"),
    [
        ({"labels"}, ["pool1", "rack7"], {}),
        ({"metrics.load", "metrics.heat"}, [], {"load": 0.5}),
        ({"metrics"}, [], {"load": 0.5, "cpu": 1.0}),
    ],
)
def test_what_no_scheduler_reads_is_left_out(driver, read, labels, metrics):
    driver._metrics = {"load": 0.5, "cpu": 1.0}
    found = report(driver, read)
    assert (found.labels, found.metrics, found.capabilities) == (labels, metrics, {})
    everything = report(driver)
    assert (everything.metrics, everything.capabilities) == (driver._metrics, RICH.capabilities)


def test_how_busy_the_node_is_is_reported(driver, tmp_path):
    machine = report(driver)
    assert len(machine.load_average) == 3
    busy = Load(averages=(0.5, 0.25, 0.125), users=3)
    pretending = FakeDriver(RICH, folder=tmp_path, faults=Faults(None, host="h1"), load=busy)
    assert report(pretending).load_average == [0.5, 0.25, 0.125]
    assert report(pretending).users == 3


def test_a_driver_that_cannot_tell_how_busy_its_node_is_does_not_silence_it(driver, monkeypatch):
    def load():
        raise OSError("no /proc here")

    monkeypatch.setattr(driver, "load", load)
    assert report(driver).load_average == []
    assert report(Silent()).load_average == []


def test_a_measurement_that_fails_does_not_silence_the_host(driver, caplog):
    def fail():
        raise OSError("the sensor is gone")

    driver.collectors = lambda: {"metrics": DriverCollector(fail, 30.0)}
    assert report(driver).metrics == {}
    assert "the collector driver.metrics failed" in caplog.text


def test_address_and_labels_come_from_the_options():
    options = {"host_ip": "192.0.2.7", "labels": ["rack7", "east"]}
    settings = HostSettings.from_conf(conf.of({"compute": options}))
    assert (settings.host_ip, settings.labels) == ("192.0.2.7", ("rack7", "east"))
    assert HostSettings.from_conf(conf.of({})).host_ip is None
