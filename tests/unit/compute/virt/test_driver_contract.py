"""What every virt driver promises; a new driver joins by one line in ``DRIVERS``."""

import functools

import pytest

from roost import exception
from roost.compute.virt.driver import (
    AttachesInterfaces,
    HostResources,
    MeasuresHost,
    PausesGuests,
    Placement,
    SuspendsGuests,
)
from roost.compute.virt.fake import FakeDriver
from roost.compute.virt.faults import Faults
from roost.objects import NetworkInfo
from roost.states import HELD, RUNNING, SAVED, SHUTDOWN
from tests.builders import a_context, a_flavor, a_uuid, a_vif, an_instance


def a_fake_driver(path):
    resources = HostResources(
        node="h1",
        vcpus=4,
        memory_mb=4096,
        disk_gb=40,
        hypervisor_type="fake",
        hypervisor_version=1,
    )
    return FakeDriver(resources, folder=path, faults=Faults(None, host="h1"), metrics={"load": 0.5})


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
            a_context(),
            instance,
            image_path=image_path,
            network_info=NetworkInfo.of(vifs=[]),
            placement=Placement(),
        )
        return instance.uuid

    return spawn


def test_a_node_has_a_name_and_something_to_give(driver):
    has = driver.resources()
    assert has.node
    assert has.hypervisor_type
    assert min(has.vcpus, has.memory_mb, has.disk_gb, has.hypervisor_version) > 0


def test_what_a_node_measures_are_numbers_by_name(driver):
    if isinstance(driver, MeasuresHost):
        assert all(isinstance(value, float) for value in driver.metrics().values())


def test_a_new_host_has_no_guests(driver):
    assert driver.list_guests() == []


def test_a_spawned_guest_runs_with_the_size_of_its_flavor(driver, spawn):
    uuid = spawn(an_instance(flavor=a_flavor(vcpus=2, memory_mb=128)))
    guest = driver.describe(uuid)
    assert (guest.uuid, guest.power_state) == (uuid, RUNNING)
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
    driver.spawn(
        a_context(),
        instance,
        image_path=None,
        network_info=NetworkInfo.of(vifs=[]),
        placement=Placement(),
    )
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


def test_a_guest_remembers_which_attempt_made_it(driver, spawn):
    uuid = spawn(an_instance(attempt=2))
    assert driver.describe(uuid).attempt in (2, None)  # None: this hypervisor keeps no such thing


def test_a_guest_is_stopped_and_started_as_often_as_one_asks(driver, spawn):
    uuid = spawn(an_instance())
    for switch, power_state in ((driver.power_off, SHUTDOWN), (driver.power_on, RUNNING)):
        for _ in range(2):
            switch(uuid)
            assert driver.describe(uuid).power_state == power_state


def test_a_stopped_guest_is_still_there(driver, make_driver, spawn):
    uuid = spawn(an_instance())
    driver.power_off(uuid)
    assert make_driver().list_guests() == [uuid]
    assert make_driver().describe(uuid).power_state == SHUTDOWN


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("stopped", [False, True])
def test_a_rebooted_guest_runs_whether_it_did_before_or_not(driver, spawn, hard, stopped):
    uuid = spawn(an_instance())
    if stopped:
        driver.power_off(uuid)
    driver.reboot(uuid, hard=hard)
    assert driver.describe(uuid).power_state == RUNNING


@pytest.mark.parametrize(
    "switch",
    [
        lambda driver: driver.power_off,
        lambda driver: driver.power_on,
        lambda driver: functools.partial(driver.reboot, hard=True),
    ],
)
def test_what_is_not_there_cannot_be_switched(driver, switch):
    with pytest.raises(exception.NotFound):
        switch(driver)(a_uuid())
    assert driver.list_guests() == []


def _quiet(driver):
    """Yield (switch, the way back, power state in between) of what this driver can."""
    if isinstance(driver, PausesGuests):
        yield driver.pause, driver.unpause, HELD
    if isinstance(driver, SuspendsGuests):
        yield driver.suspend, driver.resume, SAVED


def test_a_guest_is_paused_and_goes_on_as_often_as_one_asks(driver, make_driver, spawn):
    uuid = spawn(an_instance())
    for switch, back, between in _quiet(driver):
        for step, power_state in ((switch, between), (switch, between), (back, RUNNING)):
            step(uuid)
            assert make_driver().describe(uuid).power_state == power_state
        back(uuid)
        assert driver.describe(uuid).power_state == RUNNING


def test_a_guest_that_is_stopped_is_neither_paused_nor_let_go_on(driver, spawn):
    uuid = spawn(an_instance())
    driver.power_off(uuid)
    for switch, back, _between in _quiet(driver):
        for step in (switch, back):
            with pytest.raises(exception.Conflict):
                step(uuid)
            assert driver.describe(uuid).power_state == SHUTDOWN


def test_a_paused_guest_is_stopped_rebooted_and_started(driver, spawn):
    uuid = spawn(an_instance())
    for switch, _back, _between in _quiet(driver):
        for step, power_state in (
            (driver.power_off, SHUTDOWN),
            (driver.power_on, RUNNING),
            (functools.partial(driver.reboot, hard=True), RUNNING),
        ):
            driver.power_on(uuid)
            switch(uuid)
            step(uuid)
            assert driver.describe(uuid).power_state == power_state


def test_what_is_not_there_cannot_be_paused(driver):
    for switch, back, _between in _quiet(driver):
        for step in (switch, back):
            with pytest.raises(exception.NotFound):
                step(a_uuid())


@pytest.fixture
def attaching(driver):
    if not isinstance(driver, AttachesInterfaces):
        pytest.skip("this hypervisor cannot change interfaces")
    return driver


def test_an_interface_is_attached_once_and_detached_once(attaching, spawn):
    uuid, vif = spawn(an_instance()), a_vif()
    for change in (
        *[lambda: attaching.attach_interface(uuid, vif)] * 2,
        *[lambda: attaching.detach_interface(uuid, vif.id)] * 2,
    ):
        change()
        assert attaching.describe(uuid).power_state == RUNNING


def test_an_interface_of_no_guest_is_not_attached_but_may_be_detached(attaching):
    with pytest.raises(exception.NotFound):
        attaching.attach_interface(a_uuid(), a_vif())
    attaching.detach_interface(a_uuid(), a_uuid())
