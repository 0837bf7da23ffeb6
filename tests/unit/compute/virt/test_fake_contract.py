"""The fake driver keeps what virt drivers promise."""

import pathlib

import pytest

from roost.compute import operations
from roost.compute.virt.capabilities import TRAITS, traits_of
from roost.compute.virt.driver import GuestResources, HostResources
from roost.compute.virt.fake.driver import FakeDriver
from roost.compute.virt.fake.faults import Crash, Faults
from roost.objects import NetworkInfo
from tests.builders import a_context
from tests.stories.virt_drivers import *  # noqa: F403

OPERATIONS = pathlib.Path(operations.__file__).parent
RESOURCES = HostResources(
    node="h1",
    vcpus=4,
    memory_mb=4096,
    disk_gb=40,
    hypervisor_type="fake",
    hypervisor_version=1,
)


@pytest.fixture
def faults_file(tmp_path):
    return tmp_path / "faults.json"


@pytest.fixture
def make_driver(tmp_path, faults_file):
    def make_driver():
        faults = Faults(faults_file, host="h1")
        return FakeDriver(RESOURCES, folder=tmp_path, faults=faults, metrics={"load": 0.5})

    return make_driver


@pytest.fixture
def image_path(tmp_path):
    path = tmp_path / "image"
    path.write_bytes(b"tiny")
    return path


@pytest.fixture
def half_made(driver, faults_file, image_path):
    def half_made(instance):
        faults_file.write_text('[{"step": "spawn", "kind": "crash"}]')
        with pytest.raises(Crash):
            driver.spawn(
                a_context(),
                instance,
                image_path=image_path,
                network_info=NetworkInfo.of(vifs=[]),
                resources=GuestResources(),
            )
        faults_file.unlink()

    return half_made


@pytest.fixture
def awake():
    return lambda uuid: None


@pytest.mark.parametrize("protocol", TRAITS)
def test_a_capability_has_a_trait_if_an_operation_uses_it(protocol):
    sources = [path.read_text() for path in OPERATIONS.glob("*.py")]
    assert any(f", {protocol.__name__})" in source for source in sources)


def test_it_can_do_all_that_a_driver_may_be_able_to(driver):
    assert traits_of(driver) == {*TRAITS.values()}
