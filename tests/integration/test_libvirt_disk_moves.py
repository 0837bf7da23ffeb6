"""The disks of guests that move, by QEMU's programs and without guests: interrupted, and forged."""

import contextlib
import dataclasses
import json
import os
import signal
import struct
import subprocess
import sys
import time

import pytest

from roost import exception
from roost.compute.virt.driver import GuestResources
from roost.compute.virt.libvirt import cold_moves, images
from roost.compute.virt.libvirt.base_images import BaseImages, base_of
from roost.compute.virt.libvirt.cold_moves import LibvirtColdMoves
from roost.compute.virt.libvirt.disk_exports import CopySettings, Export, Offers, RemoteFile
from roost.compute.virt.libvirt.elements import parse
from roost.compute.virt.libvirt.folder import Folders, GuestFolder
from roost.compute.virt.libvirt.new_disks import NewDisks
from roost.compute.virt.libvirt.presence import Residents
from roost.objects import BlockDevice, GuestConfig, NetworkInfo
from roost.objects.instance import SWAP
from roost.operations.presence import Presence
from tests.builders import a_context, a_flavor, a_uuid, an_instance

MIB, GIB = 1024**2, 1024**3
HERE = CopySettings("127.0.0.1", None)


class Connection:
    """A libvirt without guests, which notes what is defined."""

    def __init__(self):
        self.defined = []

    def call(self, _what, do, seconds=None):
        return do(self)

    def defineXML(self, xml):  # noqa: N802 - the binding's name
        self.defined.append(xml)

    def lookupByUUIDString(self, uuid):  # noqa: N802 - the binding's name
        raise exception.NotFound(uuid)


@dataclasses.dataclass
class PlainDomain:
    paths: list

    def xml(self):
        return f"<domain>{' '.join(map(str, self.paths))}</domain>"


@pytest.fixture
def host(tmp_path):
    """Return what moves the guests of a host, by its name."""

    def host(node, images_type="qcow2", *, folder=None):
        folders = Folders(tmp_path / (folder or node), node)
        folders.make()
        used = lambda: {base for disk in folders.disks() if (base := base_of(disk))}  # noqa: E731
        bases = BaseImages(folders.bases, in_use=used, lifetime=3600)

        def make(instance, layout, *_more):
            folder = folders.of(instance.uuid)
            blanks = [folder.blank(n, images_type) for n in range(len(layout.blanks))]
            return PlainDomain([folder.new_root(images_type), *blanks])

        def plan(domain, _placement, write):
            write(domain.xml())
            return domain.xml()

        residents = Residents(Connection(), folders)
        new = NewDisks(bases, images_type, "ext4")
        return LibvirtColdMoves(residents, new, HERE, make, plan)

    return host


def two(old, new, *devices):
    """Return an instance before and after it gets another flavor."""
    before = an_instance(flavor=a_flavor(**old))
    after = before.obj_clone()
    after.flavor = a_flavor(**new)
    if devices:
        before.provisions = GuestConfig.of(block_devices=[device(*one) for one in devices[0]])
        after.provisions = GuestConfig.of(block_devices=[device(*one) for one in devices[1]])
    return before, after


def device(kind, size_mb):
    guest_format = SWAP if kind == SWAP else "none"
    more = {"guest_format": None} if kind == "image" else {"guest_format": guest_format}
    source = "image" if kind == "image" else "blank"
    return BlockDevice.of(source_type=source, boot_index=None, size_mb=size_mb, **more)


def same(before):
    return {
        "before": before,
        "network_info": NetworkInfo.of(vifs=[]),
        "resources": GuestResources(),
        "config_drive": None,
    }


def folder_of(moves, uuid):
    return moves.residents.folders.of(uuid)


def room_of(moves, uuid):
    folders = moves.residents.folders
    return GuestFolder(folders.room(uuid), folders.node)


def built(moves, instance, root=b"written by the guest"):
    """Give a guest a folder with its root disk (raw)."""
    folder = folder_of(moves, instance.uuid)
    folder.make("<domain>as built</domain>")
    folder.new_root("raw").write_bytes(root.ljust(GIB // 1024, b"\0"))
    os.truncate(folder.root, GIB)
    return folder


@pytest.fixture
def stopped(monkeypatch):
    """All guests are stopped."""
    monkeypatch.setattr(Residents, "require", lambda *_: None)


def test_a_file_arrives_as_it_is_whatever_its_name_and_size(tmp_path):
    offers, uuid = Offers(tmp_path / "offers", HERE), a_uuid()
    contents = {
        "console.log": b"",
        "kernel": os.urandom(300_003),
        "ramdisk": b"\0" * 70_000 + b"end",
    }
    for name, data in contents.items():
        (tmp_path / name).write_bytes(data)
    port = offers.open(uuid, [Export(name, str(tmp_path / name)) for name in contents])
    (tmp_path / "there").mkdir()
    for name, data in contents.items():
        target = tmp_path / "there" / name
        RemoteFile("127.0.0.1", port, name, len(data)).fetch(target, HERE)
        assert target.read_bytes() == data
    offers.close(uuid)
    assert [*offers.folder.iterdir()] == []


def test_what_a_guest_writes_into_a_raw_disk_names_no_files_of_hosts(host, tmp_path):
    moves = host("a", "raw")
    before, _after = two({}, {})
    header = struct.pack(">4sIQI", b"QFI\xfb", 3, 4096, 9).ljust(4096, b"\0") + b"/x/ab.raw"
    folder = built(moves, before, root=header)
    assert cold_moves._about(folder.root)["base"] is None
    assert [one.kind for one in cold_moves._exports(before.uuid, folder.root)] == ["raw"]


@pytest.mark.parametrize("evil", ["data file", "size", "no qcow2"])
def test_a_layer_that_is_not_as_it_was_offered_is_refused(tmp_path, evil):
    base, layer = tmp_path / "base.raw", tmp_path / "layer.qcow2"
    base.write_bytes(b"\0" * MIB)
    more = ["-o", f"data_file={tmp_path / 'secret'}"] if evil == "data file" else []
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", *more, layer, "2M"], check=True)
    if evil == "no qcow2":
        layer.write_bytes(b"#!/bin/sh\n")
    with pytest.raises(exception.BuildFailed, match="not as it was offered"):
        images.rebase(layer, base, size=MIB if evil == "size" else 2 * MIB)


@pytest.mark.parametrize(
    ("disks", "files"), [(["../root"], []), (["root", "blank0/x"], []), ([], ["/etc/cron.d/evil"])]
)
def test_an_offer_with_names_of_other_files_is_refused_as_a_whole(host, disks, files):
    moves = host("b")
    before, after = two({}, {})
    moves.prepare(after)
    offer = {
        "address": "127.0.0.1",
        "port": 1,
        "disks": [{"name": name, "size": 1, "base": None, "layer": 1} for name in disks],
        "files": [{"name": name, "size": 1} for name in files],
        "command_line": None,
    }
    with pytest.raises(exception.Invalid, match="names that no guest has"):
        moves.arrive(
            a_context(),
            after,
            offer=json.dumps(offer),
            image=lambda: None,
            copied=lambda *_: None,
            **same(before),
        )
    assert [*room_of(moves, after.uuid).path.iterdir()] == []


def test_an_offer_gives_out_no_other_guests_disk_when_its_port_was_taken(tmp_path):
    offers, mine, other = Offers(tmp_path / "offers", HERE), a_uuid(), a_uuid()
    for uuid in (mine, other):
        (tmp_path / uuid).write_bytes(uuid.encode().ljust(MIB, b"."))
    port = offers.open(mine, [Export(f"{mine}.disk", str(tmp_path / mine))])
    os.kill(offers._pid(mine), signal.SIGKILL)
    until = time.monotonic() + 10
    while not offers._is_free(port) and time.monotonic() < until:
        time.sleep(0.05)
    assert offers._start(other, [Export(f"{other}.disk", str(tmp_path / other))], port)
    offers.reopen()
    with pytest.raises(exception.Unavailable):
        RemoteFile("127.0.0.1", port, f"{mine}.disk", MIB).fetch(tmp_path / "got", HERE)
    offers.close(mine)
    offers.close(other)


def test_only_the_process_of_an_offer_is_ended_with_it(tmp_path):
    offers, uuid = Offers(tmp_path / "offers", HERE), a_uuid()
    offers.folder.mkdir()
    guest = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", uuid])
    offers._pid_file(uuid).write_text(str(guest.pid))
    offers.close(uuid)
    assert guest.poll() is None
    guest.kill()
    guest.wait()


def test_notes_that_were_torn_by_a_crash_cost_no_copy_and_no_start(tmp_path):
    offers, uuid = Offers(tmp_path / "offers", HERE), a_uuid()
    (tmp_path / "disk").write_bytes(b"x" * MIB)
    port = offers.open(uuid, [Export("disk", str(tmp_path / "disk"))])
    target = tmp_path / "copy.qcow2"
    target.write_bytes(b"torn")
    (tmp_path / "copy.qcow2.done").write_text("")
    RemoteFile("127.0.0.1", port, "disk", MIB).fetch(target, HERE, kind="qcow2")
    assert images.size_of(target) == MIB
    offers.close(uuid)


def test_disks_are_arranged_once_however_often_that_is_interrupted(host):
    moves = host("b", "raw")
    old = [("image", 1024), (SWAP, 1), ("first", 1), ("second", 2)]
    new = [("image", 2048), ("first", 1), ("second", 2)]
    before, after = two({"root_gb": 1}, {"root_gb": 2}, old, new)
    room = room_of(moves, after.uuid)
    room.path.mkdir(parents=True)
    for name, size in (("root", 1024), ("blank0", 1), ("blank1", 1), ("blank2", 2)):
        path = room.path / f"old-{name}.raw"
        path.write_bytes(name.encode())
        os.truncate(path, size * MIB)
    for _ in range(2):
        layout = moves._arrange(room, after, before)
        assert (layout.root, len(layout.blanks)) == (2 * GIB, 2)
        assert sorted(path.name for path in room.path.iterdir()) == [
            *("blank0.raw", "blank1.raw", "root.raw"),
        ]
        for name, data in (("blank0", b"blank1"), ("blank1", b"blank2"), ("root", b"root")):
            assert (room.path / f"{name}.raw").read_bytes()[: len(data)] == data
        assert images.size_of(room.root) == 2 * GIB


def test_a_guest_that_is_reshaped_is_not_touched_again(host, stopped):
    moves = host("a", "raw")
    before, after = two({"root_gb": 1}, {"root_gb": 2})
    folder = built(moves, before)
    moves.reshape(a_context(), after, **same(before))
    assert images.size_of(folder.root) == 2 * GIB
    with folder.root.open("r+b") as disk:
        disk.write(b"written later")
    moves.reshape(a_context(), after, **same(before))
    assert folder.root.read_bytes()[:13] == b"written later"


@pytest.mark.parametrize("interrupted", ["_copy", "_arrange", "_define", "_sync", None])
def test_however_a_resize_is_interrupted_the_guest_gets_its_disk_back(
    host, stopped, monkeypatch, interrupted
):
    moves = host("a", "raw")
    before, after = two({"root_gb": 1}, {"root_gb": 2})
    folder = built(moves, before)

    def crash(*_arguments):
        raise MemoryError

    with monkeypatch.context() as patched:
        if interrupted is not None:
            ours = LibvirtColdMoves if hasattr(LibvirtColdMoves, interrupted) else cold_moves
            patched.setattr(ours, interrupted, crash)
        with contextlib.suppress(MemoryError):
            moves.reshape(a_context(), after, **same(before))
    for _ in range(2):
        moves.restore(before.uuid)
        assert folder.root.read_bytes()[:20] == b"written by the guest"
        assert images.size_of(folder.root) == GIB
    assert folder.plan.read_text() == "<domain>as built</domain>"
    assert moves.leftovers() == set()
    assert sorted(path.name for path in folder.path.iterdir()) == ["guest.a.xml", "root.raw"]


def test_a_removal_that_is_interrupted_leaves_nothing_to_restore_from(host, stopped, monkeypatch):
    moves = host("a", "raw")
    before, after = two({"root_gb": 1}, {"root_gb": 2})
    folder = built(moves, before)
    moves.reshape(a_context(), after, **same(before))

    def torn(path):
        next(iter(path.iterdir())).unlink()
        raise MemoryError

    with monkeypatch.context() as patched:
        patched.setattr(cold_moves.shutil, "rmtree", torn)
        with pytest.raises(MemoryError):
            moves.restore(before.uuid)
    moves.restore(before.uuid)
    assert folder.root.read_bytes()[:20] == b"written by the guest"
    assert moves.leftovers() == set()


def test_a_host_with_an_old_plan_of_the_guest_prepares_nothing(host):
    moves = host("b")
    before, after = two({}, {})
    built(moves, before)
    with pytest.raises(exception.Conflict, match="still on this host"):
        moves.prepare(after)


@pytest.fixture
def shared(host, stopped, monkeypatch):
    """Return two hosts that share the storage of guests."""
    definition = parse("<domain><os/></domain>")
    monkeypatch.setattr(Residents, "on", lambda *_: definition)
    monkeypatch.setattr(Residents, "presence", lambda *_: Presence.ABSENT)
    return host("a", "raw", folder="both"), host("b", "raw", folder="both")


def sent(source, destination, before, after):
    """Do what comes before the arrival; return what ``arrive`` gets."""
    room = destination.prepare(after)
    source.check(before.uuid, room)
    changes = before.flavor.root_gb != after.flavor.root_gb
    offer = source.send(before.uuid, room, reshaped=changes)
    more = {"offer": offer, "image": lambda: None, "copied": lambda *_: None}
    return same(before) | more


@pytest.mark.parametrize("to", [1, 2])
def test_a_guest_moves_between_hosts_with_one_storage_and_its_disks_stay_there(shared, to):
    source, destination = shared
    before, after = two({"root_gb": 1}, {"root_gb": to})
    folder = built(source, before)
    inode = folder.root.stat().st_ino
    arriving = sent(source, destination, before, after)
    for _ in range(2):
        destination.arrive(a_context(), after, **arriving)
    assert to != 1 or folder.root.stat().st_ino == inode  # another file may have its number
    assert images.size_of(folder.root) == to * GIB
    assert str(folder.root) in destination.residents.connection.defined[-1]
    source.discard(before.uuid)  # it is confirmed
    folder.remove()
    names = {path.name for path in folder.path.iterdir()}
    assert names == {"guest.b.xml", "root.raw"}
    assert source.leftovers() | destination.leftovers() == set()
    folder_of(destination, before.uuid).remove()
    assert not folder.path.exists()


@pytest.mark.parametrize("interrupted", ["_copy", "_arrange", "_define", "_sync", None])
def test_however_a_move_on_one_storage_is_interrupted_the_source_gets_its_disk_back(
    shared, monkeypatch, interrupted
):
    source, destination = shared
    before, after = two({"root_gb": 1}, {"root_gb": 2})
    folder = built(source, before)
    arriving = sent(source, destination, before, after)

    def crash(*_arguments):
        raise MemoryError

    with monkeypatch.context() as patched:
        if interrupted is not None:
            ours = LibvirtColdMoves if hasattr(LibvirtColdMoves, interrupted) else cold_moves
            patched.setattr(ours, interrupted, crash)
        with contextlib.suppress(MemoryError):
            destination.arrive(a_context(), after, **arriving)
    destination.arrive(a_context(), after, **arriving)
    assert images.size_of(folder.root) == 2 * GIB
    destination.discard(before.uuid)
    folder_of(destination, before.uuid).remove()
    for _ in range(2):
        source.restore(before.uuid)
    assert folder.root.read_bytes()[:20] == b"written by the guest"
    assert images.size_of(folder.root) == GIB
    assert sorted(path.name for path in folder.path.iterdir()) == ["guest.a.xml", "root.raw"]
    assert source.leftovers() | destination.leftovers() == set()


def test_of_two_hosts_that_remove_a_guest_at_once_one_removes_its_disks(shared, monkeypatch):
    here, there = shared
    before, _after = two({}, {})
    folder, other = built(here, before), folder_of(there, before.uuid)
    other.make("<domain/>")
    look = GuestFolder.is_shared.fget

    def is_shared(mine):
        found = look(mine)
        if found and mine.node == "a":
            other.remove()  # after it has looked, and before it removes
        return found

    monkeypatch.setattr(GuestFolder, "is_shared", property(is_shared))
    folder.remove()
    assert not folder.path.exists()


def test_disks_in_rooms_use_their_bases(host):
    moves = host("b")
    _before, after = two({}, {})
    moves.prepare(after)
    folders = moves.residents.folders
    base = folders.bases / "image.raw"
    base.write_bytes(b"\0" * MIB)
    images.create(room_of(moves, after.uuid).path / "old-root.qcow2", size=MIB, base=base)
    assert [base_of(disk) for disk in folders.disks()] == ["image.raw"]
    assert moves.leftovers() == {after.uuid}
    moves.discard(after.uuid)
    assert moves.leftovers() == set()
