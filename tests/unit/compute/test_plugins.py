"""Drivers are found by the names in the options."""

import pytest

from roost import conf, exception
from roost.compute import host
from roost.compute.network.local import HostBoundNetworkDriver, LocalNetworkDriver
from roost.compute.virt.driver import WatchesSteps
from roost.compute.virt.fake.driver import FakeDriver
from tests.fakes.cell_conductor import FakeCellConductor


def test_the_fake_hypervisor_is_made_from_the_options(tmp_path):
    driver = host.load_virt(
        conf.of(
            {
                "DEFAULT": {"host": "h1", "state_path": str(tmp_path)},
                "fake_driver": {"vcpus": 3, "memory_mb": 5, "disk_gb": 7},
            }
        )
    )
    assert isinstance(driver, FakeDriver)
    assert isinstance(driver, WatchesSteps)
    has = driver.resources()
    assert (has.node, has.vcpus, has.memory_mb, has.disk_gb) == ("h1", 3, 5, 7)


def test_the_local_networks_are_the_default():
    driver = host.load_network(conf.of({}), FakeCellConductor())
    assert isinstance(driver, LocalNetworkDriver)
    assert not driver.host_bound


def test_the_host_bound_variant_says_so():
    assert HostBoundNetworkDriver.from_conf(conf.of({}), FakeCellConductor()).host_bound


@pytest.mark.parametrize(
    ("group", "option", "load"),
    [
        ("compute", "virt_driver", host.load_virt),
        ("network", "driver", lambda made: host.load_network(made, FakeCellConductor())),
    ],
)
def test_an_unknown_driver_is_named_with_its_option(group, option, load):
    with pytest.raises(exception.Invalid, match=rf"\[{group}\] {option} = vapour"):
        load(conf.of({group: {option: "vapour"}}))
