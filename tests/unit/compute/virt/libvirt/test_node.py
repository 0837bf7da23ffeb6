"""What a node has, out of what libvirt and its kernel tell."""

import dataclasses
import datetime

import pytest

from roost import conf, exception
from roost.compute.virt.libvirt import console, measures, node, pci
from roost.compute.virt.libvirt.cpu_sets import CpuSets
from roost.compute.virt.libvirt.elements import parse
from roost.compute.virt.libvirt.folder import Folders
from roost.compute.virt.libvirt.node_reader import NodeReader
from roost.compute.virt.libvirt.settings import LibvirtSettings
from roost.hardware import traits
from roost.objects import NUMACell
from tests.builders import a_uuid

ONE = """<cell id="0"><memory unit="KiB">7340032</memory><pages unit="KiB" size="4">1835008</pages>
<pages unit="KiB" size="2048">9</pages><pages unit="KiB" size="1048576">0</pages><cpus num="3">
<cpu id="0" socket_id="0" core_id="0" siblings="0-1"/>
<cpu id="1" socket_id="0" core_id="0" siblings="0-1"/>
<cpu id="2" socket_id="0" core_id="1" siblings="2"/></cpus></cell>"""
OTHER = """<cell id="1"><memory unit="KiB">2097152</memory><cpus num="1"><cpu id="3" socket_id="1"
core_id="0" siblings="3"/></cpus></cell>"""


def capabilities(*cells):
    return parse(described(*cells))


def described(*cells):
    inside = "".join(cells)
    return f"""<capabilities><host><cpu><arch>x86_64</arch><model>Nehalem</model>
        <vendor>Intel</vendor>
        <topology sockets="1" dies="1" cores="2" threads="2"/><feature name="aes"/>
        <feature name="avx2"/><feature name="nobodys"/></cpu><topology><cells num="{len(cells)}">
        {inside}</cells></topology></host></capabilities>"""


@pytest.fixture
def folder(tmp_path):
    found = Folders(tmp_path, "h1")
    found.make()
    return found.of(a_uuid())


def test_the_only_cell_has_all_memory_that_the_kernel_counts():
    (cell,) = node.cells(capabilities(ONE), memory_mb=23000)
    assert cell == NUMACell.of(
        id=0,
        cpus=[0, 1, 2],
        pcpus=[],
        memory_mb=23000,
        siblings=[[0, 1]],
        page_counts={"2048": 9},
        socket=0,
    )


def test_several_cells_have_what_libvirt_tells_of_each():
    found = node.cells(capabilities(ONE, OTHER), memory_mb=23000)
    assert [(cell.id, cell.memory_mb, list(cell.cpus)) for cell in found] == [
        (0, 7168, [0, 1, 2]),
        (1, 2048, [3]),
    ]


def test_the_features_of_the_node_are_those_of_its_guests_only_if_its_cpu_runs_them():
    by_kvm = node.traits(capabilities(ONE), virt_type="kvm")
    by_qemu = node.traits(capabilities(ONE), virt_type="qemu")
    assert {*by_kvm} - {*by_qemu} == {"HW_CPU_X86_AESNI", "HW_CPU_X86_AVX2"}
    assert "COMPUTE_IMAGE_TYPE_QCOW2" in by_qemu


def test_operators_are_told_of_the_cpus():
    assert node.cpu_info(capabilities(ONE)) == {
        "arch": "x86_64",
        "model": "Nehalem",
        "vendor": "Intel",
        "topology": {"sockets": 1, "cores": 2, "threads": 2},
        "features": ["aes", "avx2", "nobodys"],
    }
    assert node.comparable(node.cpu_info(capabilities(ONE))) == {
        "cpu_info:arch": "x86_64",
        "cpu_info:model": "Nehalem",
        "cpu_info:vendor": "Intel",
        "cpu_info:topology:sockets": "1",
        "cpu_info:topology:cores": "2",
        "cpu_info:topology:threads": "2",
        "cpu_info:features": "aes,avx2,nobodys",
    }
    assert node.architectures(capabilities(ONE)) == ("x86_64", "i686")


def test_memory_and_age_are_read_from_the_kernel(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal:       24576000 kB\nMemFree: 1 kB\n")
    (tmp_path / "stat").write_text("cpu 1 2\nbtime 1767225600\n")
    assert node.memory_mb(tmp_path) == 24000
    assert node.booted_at(tmp_path) == datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def test_a_console_is_its_end_over_the_turn_of_its_files(folder):
    assert console.read(folder.console) == ""
    folder.make("<domain/>")
    folder.console.with_name("console.log.0").write_bytes(b"first\r\n")
    folder.console.write_bytes(b"second\r\n\xff\0")
    assert console.read(folder.console) == "first\nsecond\n�"
    folder.console.write_bytes(b"x" * (console.MOST + 1))
    assert len(console.read(folder.console)) == console.MOST


def test_a_folder_is_a_guests_as_long_as_it_has_a_plan(tmp_path, folder):
    folders = Folders(tmp_path, "h1")
    assert folders.uuids() == set()
    folder.make("<domain/>")
    folder.root.write_bytes(b"disk")
    assert folders.uuids() == {folder.path.name}
    for _ in range(2):
        folder.remove()
    assert folders.uuids() == set()
    assert {*tmp_path.glob("*/*")} == set()


def test_a_folder_that_is_half_made_or_half_removed_is_nobodys_and_goes(tmp_path, folder):
    folders = Folders(tmp_path, "h1")
    folder.aside.mkdir(parents=True)
    (folder.aside / folder.plan.name).write_text("<domain/>")
    assert (folders.uuids(), [*folders.plans()]) == (set(), [])
    folders.clear()
    assert not folder.aside.exists()


def test_counters_become_what_users_are_told():
    found = {
        "balloon.maximum": 131072,
        "balloon.current": 65536,
        "balloon.unused": 16384,
        "vcpu.0.time": 5 * 10**9,
        "net.0.rx.bytes": 5,
        "net.0.tx.pkts": 6,
        "block.count": 1,
        "block.0.wr.bytes": 7,
    }
    got = measures.diagnostics(
        found, macs=["02:00:00:00:00:01"], vcpus=2, hypervisor="qemu", uptime=10
    )
    assert got.memory_details == {"maximum": 128, "used": 48}
    assert got.cpu_details == [
        {"id": 0, "time": 5 * 10**9, "utilisation": 50},
        {"id": 1, "time": 0, "utilisation": 0},
    ]
    (nic,) = got.nic_details
    assert (nic["mac_address"], nic["rx_octets"], nic["tx_packets"]) == ("02:00:00:00:00:01", 5, 6)
    assert nic.keys() == {"mac_address", *(f"{way}_{name}" for way in ("rx", "tx")
                          for name in ("octets", "errors", "drop", "packets", "rate"))}  # fmt: skip
    (disk,) = got.disk_details
    assert (disk["write_bytes"], disk["read_bytes"]) == (7, 0)


@pytest.mark.parametrize(
    ("options", "virt_type", "mode"),
    [
        ({}, "kvm", "host-model"),
        ({}, "qemu", None),
        ({"cpu_mode": "none"}, "kvm", None),
        ({"cpu_mode": "host-passthrough"}, "kvm", "host-passthrough"),
    ],
)
def test_which_cpu_guests_see_depends_on_who_runs_them(options, virt_type, mode):
    settings = LibvirtSettings.from_conf(conf.of({"libvirt": options}))
    assert settings.cpu(virt_type).mode == mode


def test_guests_are_seen_by_what_the_operator_says_each_once():
    said = {"libvirt": {"screens": ["spice", "vnc", "spice"]}}
    assert LibvirtSettings.from_conf(conf.of(said)).screens == ("spice", "vnc")
    assert LibvirtSettings.from_conf(conf.of({})).screens == ("vnc",)
    assert LibvirtSettings.from_conf(conf.of({"libvirt": {"screens": []}})).screens == ()
    with pytest.raises(ValueError, match="rdp"):
        LibvirtSettings.from_conf(conf.of({"libvirt": {"screens": ["rdp"]}}))


def test_a_cpu_model_goes_with_its_mode_only():
    with pytest.raises(exception.Invalid, match="cpu_model"):
        LibvirtSettings.from_conf(conf.of({"libvirt": {"cpu_mode": "custom"}}))
    with pytest.raises(exception.Invalid, match="cpu_model"):
        LibvirtSettings.from_conf(conf.of({"libvirt": {"cpu_model": "Nehalem"}}))


def test_features_are_had_or_not_had_beside_those_of_a_mode():
    options = {"cpu_mode": "host-model", "cpu_model_extra_flags": ["AES", "+avx", "-vmx"]}
    settings = LibvirtSettings.from_conf(conf.of({"libvirt": options}))
    assert settings.cpu("kvm").features == {"aes": True, "avx": True, "vmx": False}
    with pytest.raises(exception.Invalid, match="cpu_model_extra_flags"):
        LibvirtSettings.from_conf(conf.of({"libvirt": {"cpu_model_extra_flags": ["aes"]}}))


def test_a_node_says_what_its_machines_can_have_and_what_is_set_so(monkeypatch, tmp_path):
    monkeypatch.setattr(node, "memory_traits", tuple)
    found = node.traits(capabilities(ONE), virt_type="qemu")
    assert {"COMPUTE_SOUND_MODEL_ICH9", "COMPUTE_VIOMMU_MODEL_INTEL", traits.PACKED} <= {*found}
    assert traits.LOCKED not in found
    settings = LibvirtSettings(node="h1", folder=tmp_path)
    assert {traits.REDIRECTION, traits.HOST_ADDRESSES}.isdisjoint(settings.traits)
    other = dataclasses.replace(settings, screens=("spice",), cpu_mode="host-passthrough")
    assert {traits.REDIRECTION, traits.HOST_ADDRESSES} <= {*other.traits}


def test_no_trait_speaks_of_live_migration_before_there_is_one(tmp_path):
    options = {"live_migration_permit_post_copy": True, "live_migration_permit_auto_converge": True}
    conf_of_host = conf.of({"libvirt": options})
    assert LibvirtSettings.from_conf(conf_of_host).traits == ()


@pytest.mark.parametrize(
    ("name", "rights", "expected"),
    [
        ("libvirtd", "000001ffffffffff", (traits.LOCKED,)),
        ("virtqemud", "0000000001000000", (traits.LOCKED,)),
        ("libvirtd", "000001fffeffffff", ()),
        ("bash", "000001ffffffffff", ()),
    ],
)
def test_memory_is_locked_where_libvirt_may(tmp_path, name, rights, expected):
    (tmp_path / "7").mkdir()
    (tmp_path / "7/comm").write_text(f"{name}\n")
    (tmp_path / "7/status").write_text(f"Name:\t{name}\nGroups:\t\nCapEff:\t{rights}\n")
    (tmp_path / "8").mkdir()  # it has ended
    assert node.memory_traits(tmp_path) == expected


class Libvirt:
    """A libvirt that tells of a host."""

    cells = (ONE, OTHER)

    def call(self, _what, do):
        return do(self)

    def getCapabilities(self):  # noqa: N802 - the binding's name
        return described(*self.cells)

    def getType(self):  # noqa: N802 - the binding's name
        return "QEMU"

    def getVersion(self):  # noqa: N802 - the binding's name
        return 7002000


def test_cpus_and_memory_that_come_and_go_are_followed(tmp_path, monkeypatch):
    """By what is reported, and by where guests with shared CPUs run from then on."""
    monkeypatch.setattr(node, "memory_mb", lambda: 23000)
    libvirt, sets = Libvirt(), CpuSets(dedicated=frozenset({2}), shared=frozenset({0, 1}))
    settings = LibvirtSettings(node="h1", folder=tmp_path, virt_type="qemu", cpu_sets=sets)
    devices = pci.NodeDevices(lambda: libvirt, ())
    reader = NodeReader(lambda: libvirt, settings, devices=devices, begin=lambda: None)
    has, collect = reader.resources(), reader.collectors()["node"].collect
    assert (has.vcpus, has.pcpus, has.memory_mb) == (2, 1, 23000)

    monkeypatch.setattr(node, "memory_mb", lambda: 15000)
    libvirt.cells = (ONE,)
    found = collect()
    assert (found.vcpus, found.pcpus, found.memory_mb) == (2, 1, 15000)
    assert [cell.memory_mb for cell in found.numa_cells] == [15000]
    assert reader.known().floating == {0: [0, 1]}

    libvirt.cells = (OTHER,)
    with pytest.raises(exception.Invalid, match="cpu_shared_set names CPU 0, 1"):
        collect()
    assert reader.known().floating == {0: [0, 1]}
