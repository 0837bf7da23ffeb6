"""What every virt driver promises, whatever runs the guests.

A module that imports these tests has four fixtures: ``make_driver`` makes the driver of one host,
which measures its node if it can, again as if its daemon was started again; ``image_path`` is a
whole image that boots; ``half_made(instance)`` has a spawn fail half-way; ``awake(uuid)`` waits
until the system of a guest that was just spawned takes part in what is done to it.
"""

import contextlib
import functools
import socket

import pytest

from roost import exception
from roost.compute.collectors import Collectors, OffersCollectors, offered_by
from roost.compute.virt.driver import (
    AttachesInterfaces,
    CrashesGuests,
    GivesConsoles,
    GuestResources,
    KeepsConsoles,
    MeasuresGuests,
    PausesGuests,
    ReportsLoad,
    RescuesGuests,
    SetsPasswords,
    SnapshotsGuests,
    SuspendsGuests,
)
from roost.objects import NetworkInfo, consoles
from roost.states import HELD, NOSTATE, RUNNING, SAVED, SHUTDOWN
from tests.builders import a_context, a_flavor, a_uuid, a_vif, an_image, an_instance
from tests.stories.cloud import wait_until

MEMORY_MB = 128  # of a guest whose size does not matter


@pytest.fixture
def driver(make_driver):
    return make_driver()


@pytest.fixture
def a_guest(image_path):
    """Make the instance of a guest that is as small as guests are."""
    kind = "qcow2" if image_path.suffix == ".qcow2" else "raw"
    image = an_image(size=image_path.stat().st_size, disk_format=kind)

    def a_guest(**values):
        return an_instance(**{"flavor": a_flavor(memory_mb=MEMORY_MB), "image": image} | values)

    return a_guest


@pytest.fixture
def spawn(driver, image_path, a_guest):
    """Spawn a guest and return its uuid."""

    def spawn(instance=None, vifs=()):
        instance = instance or a_guest()
        driver.spawn(
            a_context(),
            instance,
            image_path=image_path,
            network_info=NetworkInfo.of(vifs=[*vifs]),
            resources=GuestResources(),
        )
        return instance.uuid

    return spawn


@pytest.fixture
def able(driver):
    """Return the driver as one that can do something, or skip the test of one that cannot."""

    def able(protocol):
        if not isinstance(driver, protocol):
            pytest.skip(f"{type(driver).__name__} is no {protocol.__name__}")
        return driver

    return able


def test_a_node_has_a_name_and_something_to_give(driver):
    has = driver.resources()
    assert has.node
    assert has.hypervisor_type
    assert min(has.vcpus, has.memory_mb, has.disk_gb, has.hypervisor_version) > 0


def test_what_a_node_measures_are_numbers_by_name(able):
    asked = able(OffersCollectors).collectors().values()
    found = {name: value for each in asked for name, value in each.collect().metrics.items()}
    assert found
    assert all(isinstance(value, int | float) for value in found.values())


def test_what_collectors_of_a_driver_say_at_first_is_what_it_describes(able):
    driver = able(OffersCollectors)
    collectors, has = Collectors(offered_by(driver)), driver.resources()
    for name in collectors.intervals():
        collectors.ask(name)
    assert collectors.added_to(has) == has


def test_how_busy_a_node_is_are_averages_and_users(able):
    found = able(ReportsLoad).load()
    assert len(found.averages) == 3
    assert min(*found.averages, found.users) >= 0


def test_a_new_host_has_no_guests(driver):
    assert driver.list_guests() == []


def test_a_guest_remembers_that_it_was_announced_until_it_is_made_anew(
    driver, make_driver, spawn, a_guest
):
    instance = a_guest(attempt=2)
    uuid = spawn(instance)
    assert not driver.describe(uuid).announced
    for _ in range(2):
        driver.note_announced(uuid)
    again = make_driver()
    assert (again.describe(uuid).announced, again.describe(uuid).attempt) == (True, 2)
    again.reboot(uuid, hard=True)
    again.power_off(uuid)
    assert again.describe(uuid).announced
    spawn(instance)
    assert not driver.describe(uuid).announced
    driver.destroy(uuid)
    with pytest.raises(exception.NotFound):
        driver.note_announced(uuid)


def test_a_spawned_guest_runs_with_the_size_of_its_flavor(driver, spawn, a_guest):
    uuid = spawn(a_guest(flavor=a_flavor(vcpus=2, memory_mb=128)))
    guest = driver.describe(uuid)
    assert (guest.uuid, guest.power_state) == (uuid, RUNNING)
    assert (guest.vcpus, guest.memory_mb) == (2, 128)


def test_a_guest_spawned_twice_is_there_once(driver, spawn, a_guest):
    instance = a_guest()
    assert spawn(instance) == spawn(instance)
    assert driver.list_guests() == [instance.uuid]


def test_a_guest_needs_no_image(driver, a_guest):
    instance = a_guest(image=None)
    driver.spawn(
        a_context(),
        instance,
        image_path=None,
        network_info=NetworkInfo.of(vifs=[]),
        resources=GuestResources(),
    )
    assert driver.exists(instance.uuid)


def test_the_image_is_left_as_it_was(spawn, image_path):
    before = image_path.read_bytes()
    spawn()
    assert image_path.read_bytes() == before


def test_a_guest_that_is_half_made_is_found_and_removed(driver, make_driver, half_made, a_guest):
    instance = a_guest(attempt=3)
    half_made(instance)
    assert make_driver().list_guests() == [instance.uuid]
    assert driver.exists(instance.uuid)
    found = driver.describe(instance.uuid)
    assert (found.power_state, found.attempt) in ((NOSTATE, 3), (SHUTDOWN, 3))
    driver.destroy(instance.uuid)
    assert driver.list_guests() == []


def test_a_guest_that_is_half_made_is_spawned_anew(driver, half_made, spawn, a_guest):
    instance = a_guest()
    half_made(instance)
    spawn(instance)
    assert driver.describe(instance.uuid).power_state == RUNNING
    assert driver.list_guests() == [instance.uuid]


def test_a_config_drive_is_copied_and_goes_with_its_guest(driver, image_path, a_guest, tmp_path):
    instance, drive = a_guest(config_drive=True), tmp_path / "drive.iso"
    drive.write_bytes(bytes(2048 * 20))
    driver.spawn(
        a_context(),
        instance,
        image_path=image_path,
        network_info=NetworkInfo.of(vifs=[]),
        resources=GuestResources(),
        config_drive=drive,
    )
    drive.unlink()
    driver.reboot(instance.uuid, hard=True)
    driver.destroy(instance.uuid)
    assert [*tmp_path.rglob("*.iso")] == []


def test_a_destroyed_guest_is_gone_and_the_others_stay(driver, spawn):
    gone, stays = spawn(), spawn()
    driver.destroy(gone)
    assert not driver.exists(gone)
    assert driver.list_guests() == [stays]


def test_destroying_what_is_not_there_is_fine(driver, spawn):
    uuid = spawn()
    driver.destroy(uuid)
    driver.destroy(uuid)
    driver.destroy(a_uuid())


def test_a_guest_that_is_not_there_cannot_be_described(driver):
    with pytest.raises(exception.NotFound):
        driver.describe(a_uuid())


def test_guests_outlive_the_daemon(driver, make_driver, spawn):
    uuid = spawn()
    again = make_driver()
    assert again.list_guests() == [uuid]
    assert again.describe(uuid) == driver.describe(uuid)


def test_a_guest_remembers_which_attempt_made_it(driver, spawn, a_guest):
    uuid = spawn(a_guest(attempt=2))
    assert driver.describe(uuid).attempt in (2, None)  # None: this hypervisor keeps no such thing


def test_a_guest_is_stopped_and_started_as_often_as_one_asks(driver, spawn):
    uuid = spawn()
    for switch, power_state in ((driver.power_off, SHUTDOWN), (driver.power_on, RUNNING)):
        for _ in range(2):
            switch(uuid)
            assert driver.describe(uuid).power_state == power_state


@pytest.mark.parametrize("hard", [False, True])
@pytest.mark.parametrize("stopped", [False, True])
def test_a_rebooted_guest_runs_whether_it_did_before_or_not(driver, spawn, hard, stopped):
    uuid = spawn()
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
    uuid = spawn()
    for switch, back, between in _quiet(driver):
        for step, power_state in ((switch, between), (switch, between), (back, RUNNING)):
            step(uuid)
            assert make_driver().describe(uuid).power_state == power_state
        back(uuid)
        assert driver.describe(uuid).power_state == RUNNING


def test_a_guest_that_is_stopped_is_neither_paused_nor_let_go_on(driver, spawn):
    uuid = spawn()
    driver.power_off(uuid)
    for switch, back, _between in _quiet(driver):
        for step in (switch, back):
            with pytest.raises(exception.Conflict):
                step(uuid)
            assert driver.describe(uuid).power_state == SHUTDOWN


def test_a_paused_guest_is_stopped_rebooted_and_started(driver, spawn):
    uuid = spawn()
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


def test_an_interface_is_attached_once_and_detached_once(able, spawn, awake):
    attaching, vif = able(AttachesInterfaces), a_vif()
    uuid = spawn()
    awake(uuid)
    for change in (
        *[lambda: attaching.attach_interface(uuid, vif)] * 2,
        *[lambda: attaching.detach_interface(uuid, vif.id)] * 2,
    ):
        change()
        assert attaching.describe(uuid).power_state == RUNNING


def test_an_interface_of_a_stopped_guest_is_attached_and_detached(able, spawn):
    attaching, vif = able(AttachesInterfaces), a_vif()
    uuid = spawn(vifs=[a_vif(mac="02:00:00:00:00:07")])
    attaching.power_off(uuid)
    attaching.attach_interface(uuid, vif)
    attaching.power_on(uuid)
    attaching.power_off(uuid)
    attaching.detach_interface(uuid, vif.id)
    attaching.power_on(uuid)
    assert attaching.describe(uuid).power_state == RUNNING


def test_an_interface_of_no_guest_is_not_attached_but_may_be_detached(able):
    attaching = able(AttachesInterfaces)
    with pytest.raises(exception.NotFound):
        attaching.attach_interface(a_uuid(), a_vif())
    attaching.detach_interface(a_uuid(), a_uuid())


@pytest.fixture
def rescue(able, image_path):
    """Rescue a guest, and return the driver."""
    driver = able(RescuesGuests)

    def rescue(instance):
        driver.rescue(
            a_context(), instance, image=an_image(), image_path=image_path, password="secret"
        )
        return driver

    return rescue


@pytest.mark.parametrize("stopped", [False, True])
def test_a_guest_is_rescued_and_started_as_usual_as_often_as_one_asks(
    driver, make_driver, spawn, rescue, a_guest, stopped
):
    instance = a_guest()
    uuid = spawn(instance)
    if stopped:
        driver.power_off(uuid)
    for step, rescued in (
        *[(functools.partial(rescue, instance), True)] * 2,
        *[(functools.partial(driver.unrescue, uuid), False)] * 2,
    ):
        step()
        found = make_driver().describe(uuid)
        assert (found.power_state, found.rescued) == (RUNNING, rescued)


def test_a_rescued_guest_stays_so_when_it_is_stopped_and_goes_whole(driver, spawn, rescue, a_guest):
    instance = a_guest(attempt=2)
    uuid = spawn(instance)
    rescue(instance)
    driver.power_off(uuid)
    before = driver.describe(uuid)
    assert (before.power_state, before.rescued, before.attempt) == (SHUTDOWN, True, 2)
    driver.reboot(uuid, hard=True)
    assert driver.describe(uuid).rescued
    driver.destroy(uuid)
    assert driver.list_guests() == []


def test_what_is_not_there_cannot_be_rescued(rescue, driver, a_guest):
    instance = a_guest()
    with pytest.raises(exception.NotFound):
        rescue(instance)
    with pytest.raises(exception.NotFound):
        driver.unrescue(instance.uuid)
    assert driver.list_guests() == []


@pytest.mark.parametrize(
    ("before", "power_state"),
    [(None, RUNNING), ("power_off", SHUTDOWN), ("pause", HELD), ("suspend", SAVED)],
)
def test_a_snapshot_has_the_disk_and_leaves_the_guest_as_it_was(able, spawn, before, power_state):
    driver = able(SnapshotsGuests)
    uuid = spawn()
    if before:
        getattr(driver, before)(uuid)
    with driver.snapshot(uuid, disk_format="raw") as disk:
        assert disk.read(1)
    assert driver.describe(uuid).power_state == power_state


def test_a_snapshot_begins_with_the_image(able, spawn, image_path):
    driver = able(SnapshotsGuests)
    image = image_path.read_bytes()
    with driver.snapshot(spawn(), disk_format="raw") as disk:
        assert disk.read(len(image)) == image


def test_of_what_is_not_there_no_snapshot_is_made(able):
    driver = able(SnapshotsGuests)
    with pytest.raises(exception.NotFound), driver.snapshot(a_uuid(), disk_format="raw"):
        pass


def test_consoles_say_something_and_outlive_restarts(able, make_driver, spawn):
    driver = able(KeepsConsoles)
    uuid = spawn()
    first = wait_until(lambda: driver.console_output(uuid), "the guest says something")
    driver.reboot(uuid, hard=True)
    again = make_driver()
    wait_until(lambda: len(again.console_output(uuid)) > len(first), "it says more")
    assert again.console_output(uuid).startswith(first)
    with pytest.raises(exception.NotFound):
        driver.console_output(a_uuid())


def test_consoles_that_are_typed_at_end_with_their_guest(able, spawn):
    driver, uuid = able(GivesConsoles), spawn()
    kinds = driver.console_kinds(uuid)
    assert {consoles.VNC, consoles.SERIAL} <= kinds <= set(consoles.KINDS)
    with contextlib.ExitStack() as stack:
        opened = {kind: stack.enter_context(driver.open_console(uuid, kind)) for kind in kinds}
        for console in opened.values():
            console.settimeout(60)
        said = opened[consoles.VNC].recv(12, socket.MSG_WAITALL)
        assert said.startswith(b"RFB 003.")
        driver.power_off(uuid)
        for console in opened.values():
            while console.recv(4096):
                pass
    assert driver.console_kinds(uuid) == kinds
    for kind in kinds:
        with pytest.raises(exception.Conflict):
            driver.open_console(uuid, kind)


def test_what_is_not_there_has_no_consoles_to_type_at(able):
    driver = able(GivesConsoles)
    for kind in consoles.KINDS:
        with pytest.raises(exception.NotFound):
            driver.open_console(a_uuid(), kind)
    with pytest.raises(exception.NotFound):
        driver.console_kinds(a_uuid())


def test_a_running_guest_is_measured(able, spawn, a_guest):
    driver = able(MeasuresGuests)
    flavor = a_flavor(vcpus=2, memory_mb=MEMORY_MB)
    uuid = spawn(a_guest(flavor=flavor), vifs=[a_vif(mac="02:00:00:00:00:07")])
    found = driver.diagnostics(uuid)
    assert (found.state, found.memory_details["maximum"]) == ("running", MEMORY_MB)
    assert [cpu["id"] for cpu in found.cpu_details] == [0, 1]
    assert [nic["mac_address"] for nic in found.nic_details] == ["02:00:00:00:00:07"]
    with pytest.raises(exception.NotFound):
        driver.diagnostics(a_uuid())


def test_a_password_is_set_in_a_running_guest_only(able, spawn, a_guest, awake):
    driver = able(SetsPasswords)
    instance = a_guest()
    instance.image.properties = {"hw_qemu_guest_agent": "yes"}
    uuid = spawn(instance)
    awake(uuid)
    for _ in range(2):
        driver.set_password(uuid, "secret")
    driver.power_off(uuid)
    with pytest.raises(exception.Conflict):
        driver.set_password(uuid, "secret")
    with pytest.raises(exception.NotFound):
        driver.set_password(a_uuid(), "secret")


def test_a_running_guest_is_interrupted_and_a_stopped_one_is_not(able, spawn, a_guest):
    driver = able(CrashesGuests)
    uuid = spawn(a_guest())
    driver.inject_nmi(uuid)
    driver.power_off(uuid)
    with pytest.raises(exception.Conflict):
        driver.inject_nmi(uuid)
    with pytest.raises(exception.NotFound):
        driver.inject_nmi(a_uuid())
