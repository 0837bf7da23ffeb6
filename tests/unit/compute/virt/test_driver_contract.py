"""What every virt driver promises; a new driver joins by one line in ``DRIVERS``."""

import pytest

from roost import exception, states
from roost.compute.virt.driver import HostResources
from roost.compute.virt.fake import FakeDriver
from roost.compute.virt.faults import Faults
from roost.objects import NetworkInfo
from tests.builders import a_context, a_flavor, a_uuid, an_instance


def a_fake_driver(path):
    resources = HostResources(
        node="h1",
        vcpus=4,
        memory_mb=4096,
        disk_gb=40,
        hypervisor_type="fake",
        hypervisor_version=1,
    )
    return FakeDriver(resources, folder=path, faults=Faults(None, host="h1"))


DRIVERS = {"fake": a_fake_driver}


@pytest.fixture(params=DRIVERS)
def make_driver(request, tmp_path):
    return lambda: DRIVERS[request.param](tmp_path)


@pytest.fixture
def driver(make_driver):
    return make_driver()


@pytest.fixture
def image_path(tmp_path):
    path = tmp_path / "image"
    path.write_bytes(b"tiny")
    return path


@pytest.fixture
def spawn(driver, image_path):
    def spawn(instance):
        driver.spawn(
            a_context(), instance, image_path=image_path, network_info=NetworkInfo.of(vifs=[])
        )
        return instance.uuid

    return spawn


def test_a_node_has_a_name_and_something_to_give(driver):
    has = driver.resources()
    assert has.node
    assert has.hypervisor_type
    assert min(has.vcpus, has.memory_mb, has.disk_gb, has.hypervisor_version) > 0


def test_a_new_host_has_no_guests(driver):
    assert driver.list_guests() == []


def test_a_spawned_guest_runs_with_the_size_of_its_flavor(driver, spawn):
    uuid = spawn(an_instance(flavor=a_flavor(vcpus=2, memory_mb=128)))
    guest = driver.describe(uuid)
    assert (guest.uuid, guest.power_state) == (uuid, states.RUNNING)
    assert (guest.vcpus, guest.memory_mb) == (2, 128)


def test_guests_are_listed_in_order(driver, spawn):
    uuids = [spawn(an_instance()) for _ in range(3)]
    assert driver.list_guests() == sorted(uuids)


def test_a_guest_spawned_twice_is_there_once(driver, spawn):
    instance = an_instance()
    assert spawn(instance) == spawn(instance)
    assert driver.list_guests() == [instance.uuid]


def test_a_guest_needs_no_image(driver):
    instance = an_instance(image=None)
    driver.spawn(a_context(), instance, image_path=None, network_info=NetworkInfo.of(vifs=[]))
    assert driver.exists(instance.uuid)


def test_the_image_is_left_as_it_was(spawn, image_path):
    spawn(an_instance())
    assert image_path.read_bytes() == b"tiny"


def test_a_destroyed_guest_is_gone_and_the_others_stay(driver, spawn):
    gone, stays = spawn(an_instance()), spawn(an_instance())
    driver.destroy(gone)
    assert not driver.exists(gone)
    assert driver.list_guests() == [stays]


def test_destroying_what_is_not_there_is_fine(driver, spawn):
    uuid = spawn(an_instance())
    driver.destroy(uuid)
    driver.destroy(uuid)
    driver.destroy(a_uuid())


def test_a_guest_that_is_not_there_cannot_be_described(driver):
    with pytest.raises(exception.NotFound):
        driver.describe(a_uuid())


def test_guests_outlive_the_daemon(driver, make_driver, spawn):
    uuid = spawn(an_instance())
    again = make_driver()
    assert again.list_guests() == [uuid]
    assert again.describe(uuid) == driver.describe(uuid)
