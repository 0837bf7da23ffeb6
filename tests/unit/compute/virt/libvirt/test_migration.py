"""Guests that go to another host: what libvirt is told there, whose their folders are, how far."""

import dataclasses
import pathlib

import libvirt
import pytest

from roost import conf, exception
from roost.compute.virt.libvirt.cpus import Topology
from roost.compute.virt.libvirt.elements import parse
from roost.compute.virt.libvirt.folder import Folders
from roost.compute.virt.libvirt.guests import planned
from roost.compute.virt.libvirt.interfaces import GuestInterface
from roost.compute.virt.libvirt.migration_destination import Own, has_kernel, moved
from roost.compute.virt.libvirt.migration_source import (
    LibvirtMigrationSources,
    flags_of,
    parameters_of,
)
from roost.compute.virt.libvirt.settings import MigrationSettings, TimeoutAction
from roost.compute.virt.live_migration import MigrationDestination
from roost.operations.presence import Presence
from tests.builders import a_uuid, a_vif
from tests.stories.libvirt_domains import DOMAINS, ON_A_BRIDGE, a_domain, a_topology

THERE = pathlib.Path("/there/one")
SETTINGS = MigrationSettings()


def own(*vifs, **values):
    known = {"vifs": {vif.id: vif for vif in vifs}, "topology": Topology(), "attempt": 2}
    return Own(**{"folder": THERE} | known | values)


def vifs_of(name):
    """Return the interfaces of a guest, on bridges of another name."""
    there = ON_A_BRIDGE | {"details": {"bridge_name": '"br-there"'}}
    return [a_vif(id=one.port_id, **there) for one in DOMAINS[name].interfaces]


@pytest.mark.parametrize("name", DOMAINS)
def test_all_files_of_a_guest_are_in_its_folder_of_the_destination(name):
    domain = parse(moved(DOMAINS[name].xml(), own(*vifs_of(name))))
    files = [
        one.get("file") for path in (".//disk/source", ".//log") for one in domain.findall(path)
    ]
    assert files
    assert {pathlib.Path(file).parent for file in files} == {THERE}


def test_a_kernel_beside_the_disks_is_in_the_folder_of_the_destination_too():
    started = DOMAINS["with its own kernel"].xml()
    there = moved(started, own(*vifs_of("with its own kernel")))
    found = [parse(there).findtext(path) for path in ("os/kernel", "os/initrd")]
    assert found == [str(THERE / "kernel"), str(THERE / "ramdisk")]
    assert has_kernel(started)
    assert not has_kernel(a_domain().xml())


def test_what_a_disk_stands_on_is_for_the_destination_to_find():
    live = a_domain().xml().replace("</disk>", '<backingStore type="file"/></disk>')
    assert "backingStore" not in moved(live, own())


def test_an_interface_is_plugged_where_the_destination_says_and_found_where_it_was():
    vif = a_vif(**ON_A_BRIDGE)
    there = a_vif(id=vif.id, mac=vif.mac, **vifs_there("br-there"))
    xml = a_domain(interfaces=(GuestInterface.of(vif),)).xml()
    at = '<address type="pci" slot="0x03"/></interface>'
    (found,) = parse(moved(xml.replace("</interface>", at), own(there))).iter("interface")
    assert found.find("source").get("bridge") == "br-there"
    assert found.find("target").get("dev") == GuestInterface.of(there).element().find("target").get(
        "dev"
    )
    assert found.find("mac").get("address") == vif.mac
    assert found.find("address").get("slot") == "0x03"


def vifs_there(bridge):
    return ON_A_BRIDGE | {"details": {"bridge_name": f'"{bridge}"'}}


def test_an_interface_that_nobody_plugged_at_the_destination_is_missed():
    vif = a_vif()
    xml = a_domain(interfaces=(GuestInterface.of(vif),)).xml()
    with pytest.raises(exception.Conflict, match=vif.id):
        moved(xml, own(a_vif()))


def test_a_guest_is_pinned_to_the_cpus_of_its_destination():
    there = a_topology(pinning=[9], host_cell=0)
    domain = parse(moved(DOMAINS["pinned"].xml(), own(topology=there)))
    pins = {pin.get("vcpu"): pin.get("cpuset") for pin in domain.iter("vcpupin")}
    assert pins == {"0": "0,1", "1": "9", "2": "0,1", "3": "0,1"}
    assert [(one.get("cellid"), one.get("nodeset")) for one in domain.iter("memnode")] == [
        ("0", "0"),
        ("1", "0"),
    ]
    free = parse(moved(DOMAINS["pinned"].xml(), own()))
    assert [*free.iter("cputune"), *free.iter("numatune")] == []


def test_the_plan_of_a_guest_that_comes_is_read_as_libvirt_has_written_it():
    libvirts = a_domain().xml().replace('<memory unit="MiB">512<', '<memory unit="KiB">524288<')
    assert planned(libvirts).memory_mb == planned(a_domain().xml()).memory_mb == 512


@pytest.fixture
def shared(tmp_path):
    """The same guest, on storage that two hosts share."""
    uuid = a_uuid()
    source, destination = (Folders(tmp_path, node).of(uuid) for node in ("h1", "h2"))
    source.make("<domain/>")
    source.root.write_bytes(b"disk")
    return source, destination


def test_hosts_that_share_storage_have_their_own_guests_only(shared):
    source, destination = shared
    folders = {node: Folders(source.path.parent, node) for node in ("h1", "h2")}
    assert [folders[node].uuids() for node in folders] == [{source.path.name}, set()]
    destination.make("<domain/>")
    assert [len([*folders[node].plans()]) for node in folders] == [1, 1]


@pytest.mark.parametrize("stays", ["source", "destination"])
def test_shared_disks_go_with_the_last_host_that_has_the_guest(shared, stays):
    source, destination = shared
    destination.make("<domain/>")
    first, last = (destination, source) if stays == "source" else (source, destination)
    for _ in range(2):
        first.remove()
    assert last.root.read_bytes() == b"disk"
    assert last.plan.exists()
    last.remove()
    assert not source.path.exists()


def test_storage_has_one_name_for_all_hosts_that_share_it(tmp_path):
    names = [Folders(tmp_path / "shared", node).storage() for node in ("h1", "h2", "h1")]
    assert len({*names}) == 1
    assert Folders(tmp_path / "other", "h1").storage() not in names
    assert sorted(one.name for one in (tmp_path / "shared").iterdir()) == ["bases", "storage"]


def an_arrival(**values):
    details = {"memory_uri": "tcp://192.0.2.2", "address": "192.0.2.2", "domain": "<live/>",
               "definition": "<defined/>"}  # fmt: skip
    return MigrationDestination("uuid", "h2", details=details, **values)


@pytest.mark.parametrize(
    ("incoming", "flag"),
    [
        (an_arrival(), libvirt.VIR_MIGRATE_UNSAFE),
        (an_arrival(copied=("vda",)), libvirt.VIR_MIGRATE_NON_SHARED_INC),
        (an_arrival(copied=("vda",), whole=True), libvirt.VIR_MIGRATE_NON_SHARED_DISK),
    ],
)
def test_disks_are_copied_as_the_destination_needs_them(incoming, flag):
    storage = (
        libvirt.VIR_MIGRATE_UNSAFE
        | libvirt.VIR_MIGRATE_NON_SHARED_INC
        | libvirt.VIR_MIGRATE_NON_SHARED_DISK
    )
    assert flags_of(incoming, SETTINGS) & storage == flag


@pytest.mark.parametrize(
    ("name", "flag"),
    [
        ("post_copy", libvirt.VIR_MIGRATE_POSTCOPY),
        ("auto_converge", libvirt.VIR_MIGRATE_AUTO_CONVERGE),
    ],
)
def test_what_disturbs_a_guest_is_only_done_where_it_is_permitted(name, flag):
    assert not flags_of(an_arrival(), SETTINGS) & flag
    permitting = dataclasses.replace(SETTINGS, **{name: True})
    assert flags_of(an_arrival(), permitting) & flag


def test_libvirt_is_told_where_a_guest_goes_and_how_fast():
    incoming = an_arrival(copied=("vda", "vdb"))
    said = parameters_of(incoming, dataclasses.replace(SETTINGS, bandwidth=7))
    assert said == {
        "migrate_uri": "tcp://192.0.2.2",
        "listen_address": "192.0.2.2",
        "destination_xml": "<live/>",
        "persistent_xml": "<defined/>",
        "bandwidth": 7,
        "migrate_disks": ["vda", "vdb"],
    }
    named = dataclasses.replace(incoming, details=incoming.details | {"address": "h2"}, copied=())
    assert {*parameters_of(named, SETTINGS)} == {
        "migrate_uri",
        "destination_xml",
        "persistent_xml",
    }


@pytest.mark.parametrize(
    ("options", "uri", "address"),
    [
        ({}, "qemu+tls://h1/system", "h1"),
        (
            {"live_migration_inbound_addr": "2001:db8::1"},
            "qemu+tls://[2001:db8::1]/system",
            "2001:db8::1",
        ),
        ({"live_migration_uri": "qemu+ssh://a/system"}, "qemu+ssh://a/system", "h1"),
    ],
)
def test_a_host_says_where_it_is_reached(options, uri, address):
    found = MigrationSettings.from_conf(conf.of({"DEFAULT": {"host": "h1"}, "libvirt": options}))
    assert (found.uri, found.address) == (uri, address)


def test_a_move_may_take_longer_the_more_there_is_to_copy():
    found = MigrationSettings(seconds_per_gib=100, timeout_action=TimeoutAction.ABORT)
    assert [found.seconds(gib * 1024**3) for gib in (0, 1, 5)] == [100, 100, 500]
    assert MigrationSettings(seconds_per_gib=0).seconds(1) is None


class Residents:
    """One guest, found in some way, which remembers what is done to it."""

    def __init__(self, presence):
        self._presence = presence
        self.done = []

    def require(self, _uuid, *allowed):
        assert self._presence in allowed
        return self._presence

    def on(self, _uuid, _what, do):
        do(self)

    def resume(self):
        self.done.append("resume")


@pytest.mark.parametrize(
    ("presence", "done"),
    [(Presence.UNDECIDED, ["resume"]), (Presence.HERE, []), (Presence.STOPPED, [])],
)
def test_a_guest_that_stays_is_let_go_on_if_it_is_held(presence, done):
    residents = Residents(presence)
    LibvirtMigrationSources(residents, node="h1", settings=SETTINGS).stay(a_uuid())
    assert residents.done == done
