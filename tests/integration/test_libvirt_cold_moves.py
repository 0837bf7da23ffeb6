"""Stopped guests of libvirt go from one libvirtd to another with their disks, and get others."""

import os
import pathlib

import pytest

from roost import exception, states
from roost.compute.virt.driver import GuestResources
from roost.compute.virt.libvirt import images
from roost.compute.virt.libvirt.base_images import base_of
from roost.compute.virt.libvirt.disk_exports import Export, Offers, RemoteFile
from roost.objects import NetworkInfo
from roost.operations.presence import Presence
from roost.rig.hypervisors import linux_guest
from tests.builders import a_context, a_flavor, a_uuid, a_vif, an_image, an_instance
from tests.integration import test_libvirt_migration as live
from tests.integration.test_libvirt_migration import (  # noqa: F401 - fixtures
    certificates,
    hosts,
    other_libvirtd,
    used,
    wire,
)
from tests.stories.cloud import wait_until
from tests.stories.real_guests import BOOTED

pytestmark = pytest.mark.timeout(600)
GIB, MIB = 1024**3, 1024**2
SMALL = {"memory_mb": linux_guest.MEMORY_MB, "root_gb": 1, "ephemeral_gb": 1, "swap": 16}
LARGE = SMALL | {"flavorid": "2", "root_gb": 2, "ephemeral_gb": 3, "swap": 32}


class ColdMove:
    """A guest on one host, and what it takes to have it on another, or with another flavor."""

    def __init__(self, source, destination, image_path, old, new):
        self.source, self.destination, self.image_path = source, destination, image_path
        kind = "qcow2" if image_path.suffix == ".qcow2" else "raw"
        image = an_image(size=image_path.stat().st_size, disk_format=kind)
        self.before = an_instance(flavor=old, image=image, attempt=1)
        self.after = self.before.obj_clone()
        self.after.flavor = new
        self.uuid, self.info = self.before.uuid, NetworkInfo.of(vifs=[a_vif()])
        self.copied = []

    def spawn(self):
        self.source.spawn(
            a_context(),
            self.before,
            image_path=self.image_path,
            network_info=self.info,
            resources=GuestResources(),
        )

    def send(self):
        room = self.destination.cold_moves().prepare(self.after)
        self.source.cold_moves().check(self.uuid, room)
        self.source.power_off(self.uuid)
        reshaped = self.before.flavor.root_gb != self.after.flavor.root_gb
        return self.source.cold_moves().send(self.uuid, room, reshaped=reshaped)

    def arrive(self, offer, *, image=True):
        self.destination.cold_moves().arrive(
            a_context(),
            self.after,
            offer=offer,
            image=lambda: self.image_path if image else None,
            copied=lambda *copied: self.copied.append(copied),
            **self._same(),
        )

    def reshape(self):
        self.source.cold_moves().reshape(a_context(), self.after, **self._same())

    def _same(self):
        return {
            "before": self.before,
            "network_info": self.info,
            "resources": GuestResources(),
            "config_drive": None,
        }


@pytest.fixture
def a_move(hosts, certificates):  # noqa: F811 - a fixture
    """Make moves; what their sources still offer at the end, nobody offers after it."""
    made = []

    def a_move(image_path, *, old=SMALL, new=LARGE, tls=certificates, folder=None):
        def driver(settings):
            place = folder or settings.folder
            return live.LibvirtDriver(live.dataclasses.replace(settings, tls=tls, folder=place))

        ends = driver(hosts.settings), driver(hosts._destination)
        made.append(ColdMove(*ends, image_path, a_flavor(**old), a_flavor(**new)))
        return made[-1]

    yield a_move
    for move in made:
        move.source.cold_moves().keep(move.uuid)


def says(driver, uuid, words):
    wait_until(lambda: words in driver.console_output(uuid), words, timeout=BOOTED)


def disks(driver, uuid):
    """Return the sizes of a guest's disks by their names, in MiB, and whether they have a base."""
    folder = driver._folders.of(uuid).path
    return {
        path.name: (images.size_of(path) // MIB, base_of(path) is not None)
        for path in sorted(folder.glob("*.qcow2"))
    }


@pytest.mark.parametrize("with_image", [True, False])
def test_a_linux_goes_with_all_that_it_wrote_and_finds_a_larger_disk(
    a_move, linux_image, with_image
):
    move = a_move(linux_image)
    move.spawn()
    says(move.source, move.uuid, "guest: boot 1\n")
    says(move.source, move.uuid, linux_guest.READY)
    offer = move.send()
    for _ in range(2):
        move.arrive(offer, image=with_image)
    assert move.destination.describe(move.uuid).power_state == states.SHUTDOWN
    (total, first), *_, last = move.copied
    assert (first, last) == (0, (total, total))
    assert disks(move.destination, move.uuid) == {
        "blank0.qcow2": (3 * 1024, False),
        "blank1.qcow2": (32, False),
        "root.qcow2": (2 * 1024, with_image),
    }
    move.destination.power_on(move.uuid)
    says(move.destination, move.uuid, "guest: boot 2\n")
    says(move.destination, move.uuid, "guest: root disk of 2048 MiB")
    assert "guest: boot 1\n" in move.destination.console_output(move.uuid)
    move.source.destroy(move.uuid)
    move.source.cold_moves().discard(move.uuid)
    assert left(move.source) == []
    move.destination.destroy(move.uuid)
    move.destination.cold_moves().discard(move.uuid)
    assert left(move.destination) == []


def left(driver):
    """Return the files that a host has, beside its bases."""
    folder = driver._folders.path
    found = (path for path in folder.rglob("*") if path.is_file())
    return [path for path in found if path.parent.name != "bases" and path.name != "storage"]


@pytest.mark.parametrize("new", [SMALL, LARGE])
@pytest.mark.parametrize("stays", [True, False])
def test_a_linux_moves_to_a_host_with_the_same_storage_and_back(
    a_move, linux_image, tmp_path, new, stays
):
    tmp_path.chmod(0o755)
    move = a_move(linux_image, new=new, folder=tmp_path / "both")
    move.spawn()
    says(move.source, move.uuid, "guest: boot 1\n")
    says(move.source, move.uuid, linux_guest.READY)
    move.arrive(move.send())
    assert move.copied == []
    assert disks(move.destination, move.uuid)["root.qcow2"][0] == new["root_gb"] * 1024
    move.destination.power_on(move.uuid)
    says(move.destination, move.uuid, "guest: boot 2\n")
    says(move.destination, move.uuid, f"guest: root disk of {new['root_gb'] * 1024} MiB")
    goes, remains = move.source, move.destination
    if not stays:
        goes, remains = remains, goes
    goes.cold_moves().discard(move.uuid)
    goes.destroy(move.uuid)
    assert remains.describe(move.uuid).power_state == (states.RUNNING if stays else states.SHUTDOWN)
    if not stays:
        remains.cold_moves().restore(move.uuid)
        assert disks(remains, move.uuid)["root.qcow2"] == (1024, True)
        remains.power_on(move.uuid)
        says(remains, move.uuid, f"guest: boot {3 if new is SMALL else 2}\n")
    remains.cold_moves().discard(move.uuid)
    remains.destroy(move.uuid)
    assert left(remains) == []


def test_a_linux_whose_host_is_gone_has_its_disks_on_a_host_with_the_same_storage(
    a_move, linux_image, tmp_path
):
    tmp_path.chmod(0o755)
    move = a_move(linux_image, new=SMALL, folder=tmp_path / "both")
    move.spawn()
    says(move.source, move.uuid, linux_guest.READY)
    move.source.power_off(move.uuid)  # as its host is
    moves = move.destination.cold_moves()
    offer = moves.adopt(move.uuid)
    moves.prepare(move.after)
    move.arrive(offer)
    move.arrive(moves.adopt(move.uuid))
    move.destination.power_on(move.uuid)
    says(move.destination, move.uuid, "guest: boot 2\n")
    move.source.destroy(move.uuid)  # its host is up again
    assert move.destination.describe(move.uuid).power_state == states.RUNNING
    assert moves.adopt(move.uuid) is None
    move.destination.cold_moves().discard(move.uuid)
    move.destination.destroy(move.uuid)
    assert left(move.destination) == []


def test_a_guest_whose_host_is_gone_leaves_nothing_to_a_host_with_other_storage(a_move, image_path):
    move = a_move(image_path)
    move.spawn()
    assert move.destination.cold_moves().adopt(move.uuid) is None
    move.source.destroy(move.uuid)


def test_a_guest_that_does_not_leave_after_all_runs_where_it_was(a_move, image_path):
    move = a_move(image_path)
    move.spawn()
    offer = move.send()
    move.arrive(offer)
    move.destination.destroy(move.uuid)
    move.destination.cold_moves().discard(move.uuid)
    move.source.cold_moves().keep(move.uuid)
    with pytest.raises(exception.NotFound, match="no room"):
        move.arrive(offer)
    assert disks(move.source, move.uuid)["root.qcow2"] == (1024, True)
    move.source.power_on(move.uuid)
    assert move.source.describe(move.uuid).power_state == states.RUNNING


def test_nobody_fetches_disks_without_a_certificate(a_move, image_path, certificates):  # noqa: F811
    move = a_move(image_path)
    move.spawn()
    offer = move.send()
    stranger = a_move(image_path, tls=None).destination.cold_moves()
    remote = live.json.loads(offer)
    file = RemoteFile(remote["address"], remote["port"], f"{move.uuid}.root.whole", GIB)
    with pytest.raises(exception.Unavailable, match=r"root\.whole could not be copied"):
        file.fetch(image_path.with_name("stolen.raw"), stranger.settings)


def test_a_daemon_that_starts_again_goes_on_offering(a_move, image_path):
    move = a_move(image_path)
    move.spawn()
    offer = move.send()
    offers = move.source.cold_moves().offers
    pid = int(pathlib.Path(offers.folder, f"{move.uuid}.pid").read_text())
    os.kill(pid, live.signal.SIGKILL)
    with pytest.raises(exception.Unavailable):
        move.arrive(offer)
    offers.reopen()
    move.arrive(offer)
    assert move.destination._residents.presence(move.uuid) is Presence.STOPPED


def test_a_copy_goes_on_where_it_was_interrupted(tmp_path, certificates, wire, monkeypatch):  # noqa: F811
    source, target, uuid = tmp_path / "disk.raw", tmp_path / "copy.raw", a_uuid()
    source.write_bytes(os.urandom(3 * MIB) + b"\0" * 61 * MIB + b"end")
    settings = live.LibvirtSettings(
        node="h1",
        folder=tmp_path,
        tls=certificates,
        migration=live.MigrationSettings(address=wire.here),
    ).copies
    offers = Offers(tmp_path / "offers", settings)
    port = offers.open(uuid, [Export("disk", str(source))])
    monkeypatch.setattr("roost.compute.virt.libvirt.disk_exports._PIECE", MIB)
    remote, fetched = RemoteFile(wire.here, port, "disk", source.stat().st_size), []
    piece = RemoteFile._fetch_piece

    def fetch_piece(self, target, settings, kind, at, length):
        if len(fetched) == 2:
            offers.close(uuid)
        piece(self, target, settings, kind, at, length)
        fetched.append(at // MIB)

    monkeypatch.setattr(RemoteFile, "_fetch_piece", fetch_piece)
    with pytest.raises(exception.Unavailable):
        remote.fetch(target, settings)
    assert fetched == [0, 1]
    fetched.append(None)
    offers.open(uuid, [Export("disk", str(source))])
    again = RemoteFile(wire.here, live.json.loads(
        (offers.folder / f"{uuid}.json").read_text())["port"], "disk", remote.size)  # fmt: skip
    copied = []
    again.fetch(target, settings, copied=copied.append)
    assert copied == [*range(2 * MIB, 65 * MIB, MIB), remote.size]
    assert fetched[3:] == [*range(2, 65)]
    assert target.read_bytes() == source.read_bytes()
    assert target.stat().st_blocks * 512 < 8 * MIB  # holes stay holes
    offers.close(uuid)
    assert list(offers.folder.iterdir()) == []


def test_on_its_own_host_a_guest_gets_larger_disks_and_its_old_ones_back(a_move, linux_image):
    move = a_move(linux_image)
    move.spawn()
    says(move.source, move.uuid, linux_guest.READY)
    move.source.power_off(move.uuid)
    was = disks(move.source, move.uuid)
    for _ in range(2):
        move.reshape()
    grown = {
        "blank0.qcow2": (3 * 1024, False),
        "blank1.qcow2": (32, False),
        "root.qcow2": (2 * 1024, True),
    }
    assert disks(move.source, move.uuid) == grown
    move.source.power_on(move.uuid)
    says(move.source, move.uuid, "guest: root disk of 2048 MiB")
    move.source.power_off(move.uuid)
    for _ in range(2):
        move.source.cold_moves().restore(move.uuid)
    assert disks(move.source, move.uuid) == was
    move.source.power_on(move.uuid)
    wait_until(
        lambda: move.source.console_output(move.uuid).count("guest: boot 2\n") == 2,
        "what it wrote with the other flavor is gone",
        timeout=BOOTED,
    )
    move.source.power_off(move.uuid)
    move.reshape()
    move.source.cold_moves().settle(move.uuid)
    move.source.cold_moves().restore(move.uuid)
    assert disks(move.source, move.uuid) == grown


def test_a_guest_with_another_swap_or_none_finds_what_its_flavor_says(a_move, image_path):
    bare = SMALL | {"ephemeral_gb": 0, "swap": 16}
    move = a_move(image_path, old=bare, new=SMALL | {"swap": 0})
    move.spawn()
    move.source.power_off(move.uuid)
    assert disks(move.source, move.uuid)["blank0.qcow2"] == (16, False)
    move.reshape()
    assert disks(move.source, move.uuid)["blank0.qcow2"] == (1024, False)
    move.source.power_on(move.uuid)
    assert move.source.describe(move.uuid).power_state == states.RUNNING


@pytest.fixture
def image_path(tmp_path):
    """A disk that a guest starts from and does nothing more."""
    path = tmp_path / "sector.img"
    path.write_bytes(live.probe.disk(rounds=1).ljust(MIB, b"\0"))
    return path
