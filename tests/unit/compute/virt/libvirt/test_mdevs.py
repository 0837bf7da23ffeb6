"""Virtual GPUs: what libvirt tells of physical devices, and what guests get of them."""

import pytest

from roost import conf, exception
from roost.compute.virt.driver import GuestResources
from roost.compute.virt.libvirt.driver import LibvirtDriver
from roost.compute.virt.libvirt.elements import parse
from roost.compute.virt.libvirt.mdevs import MediatedDevice, VirtualGpus
from roost.compute.virt.libvirt.settings import LibvirtSettings
from roost.objects import NetworkInfo
from tests.builders import a_context, a_flavor, a_uuid, an_instance

# As in libvirt's documentation of node devices.
GPU = """<device><name>{name}</name><parent>computer</parent><capability type='pci'>
<class>0x030000</class><domain>0</domain><bus>2</bus><slot>0</slot><function>0</function>
<product id='0x11bf'>GK104GL [GRID K2]</product><vendor id='0x10de'>NVIDIA Corporation</vendor>
<capability type='mdev_types'>
<type id='nvidia-10'><name>GRID M60-0B</name><deviceAPI>vfio-pci</deviceAPI>
<availableInstances>{many}</availableInstances></type>
<type id='nvidia-11'><name>GRID M60-0Q</name><deviceAPI>vfio-pci</deviceAPI>
<availableInstances>{few}</availableInstances></type>
</capability></capability></device>"""
MDEV = """<device><name>{name}</name><parent>{parent}</parent><capability type='mdev'>
<type id='{type_id}'/><uuid>{uuid}</uuid><iommuGroup number='12'/></capability></device>"""
FIRST, SECOND = "pci_0000_02_00_0", "pci_0000_84_00_0"


class Libvirt:
    """A libvirt of a host with two GPUs, of each of which two virtual ones can be made."""

    def __init__(self):
        self.mdevs = {}
        self.domains = {}

    def call(self, _what, do, *, seconds=None):
        return do(self)

    def getCapabilities(self):  # noqa: N802 - the binding's name
        return """<capabilities><host><cpu><arch>x86_64</arch></cpu><topology><cells num="1">
        <cell id="0"><memory unit="KiB">1048576</memory><cpus num="1"><cpu id="0"/></cpus></cell>
        </cells></topology></host></capabilities>"""

    def getType(self):  # noqa: N802 - the binding's name
        return "QEMU"

    def getVersion(self):  # noqa: N802 - the binding's name
        return 7002000

    def listAllDevices(self, flags):  # noqa: N802 - the binding's name
        if flags == 1 << 13:  # VIR_CONNECT_LIST_NODE_DEVICES_CAP_MDEV_TYPES
            return [NodeDevice(self, self._gpu(name)) for name in (FIRST, SECOND)]
        assert flags == 1 << 14  # VIR_CONNECT_LIST_NODE_DEVICES_CAP_MDEV
        return [NodeDevice(self, text) for text in self.mdevs.values()]

    def nodeDeviceCreateXML(self, xml, _flags):  # noqa: N802 - the binding's name
        device = parse(xml)
        uuid, parent = device.findtext("capability/uuid"), device.findtext("parent")
        assert self._free(parent) > 0
        name = f"mdev_{uuid.replace('-', '_')}_{parent.removeprefix('pci_')}"
        type_id = device.find("capability/type").get("id")
        self.mdevs[name] = MDEV.format(name=name, parent=parent, type_id=type_id, uuid=uuid)

    def nodeDeviceLookupByName(self, name):  # noqa: N802 - the binding's name
        return NodeDevice(self, self.mdevs[name])

    def lookupByUUIDString(self, uuid):  # noqa: N802 - the binding's name
        if uuid not in self.domains:
            raise exception.NotFound("There is no such guest on this host.")
        return self.domains[uuid]

    def defineXML(self, xml):  # noqa: N802 - the binding's name
        self.domains[parse(xml).findtext("uuid")] = Domain(self, xml)

    def listAllDomains(self):  # noqa: N802 - the binding's name
        return list(self.domains.values())

    def restart(self):
        """Forget what a machine forgets when it boots."""
        self.mdevs.clear()
        for domain in self.domains.values():
            domain.active = False

    def _gpu(self, name):
        free = self._free(name)
        return GPU.format(name=name, many=free, few=free)

    def _free(self, name):
        return 2 - sum(f"<parent>{name}<" in text for text in self.mdevs.values())


class NodeDevice:
    def __init__(self, owner, text):
        self._owner = owner
        self._text = text

    def XMLDesc(self):  # noqa: N802 - the binding's name
        return self._text

    def destroy(self):
        del self._owner.mdevs[parse(self._text).findtext("name")]


class Domain:
    """A guest that starts only if the devices that it names exist."""

    def __init__(self, owner, xml):
        self._owner = owner
        self.xml = xml
        self.active = False

    def name(self):
        return parse(self.xml).findtext("name")

    def connect(self):
        return self._owner

    def metadata(self, _kind, namespace):
        return f"<guest xmlns='{namespace}'/>"

    def XMLDesc(self, _flags=0):  # noqa: N802 - the binding's name
        return self.xml

    def state(self):
        return (1 if self.active else 5), 0

    def isActive(self):  # noqa: N802 - the binding's name
        return self.active

    def hasManagedSaveImage(self):  # noqa: N802 - the binding's name
        return False

    def create(self):
        there = "".join(self._owner.mdevs.values())
        for uuid in mdevs_in(parse(self.xml)):
            assert f"<uuid>{uuid}</uuid>" in there
        self.active = True

    def destroy(self):
        self.active = False

    def undefineFlags(self, _flags):  # noqa: N802 - the binding's name
        del self._owner.domains[parse(self.xml).findtext("uuid")]


def mdevs_in(domain):
    path = "devices/hostdev[@type='mdev'][@mode='subsystem'][@model='vfio-pci']/source/address"
    return [one.attrib["uuid"] for one in domain.iterfind(path)]


@pytest.fixture
def libvirt():
    return Libvirt()


@pytest.fixture
def driver(tmp_path, libvirt):
    """Make the driver of the host, again as if its daemon was started again."""
    settings = LibvirtSettings(
        node="h1", folder=tmp_path, virt_type="qemu", mdev_types=("nvidia-35", "nvidia-11")
    )

    def driver():
        made = LibvirtDriver(settings)
        made._connection = libvirt
        return made

    return driver


def spawn(driver, allocations):
    instance = an_instance(flavor=a_flavor(root_gb=0))
    driver.spawn(
        a_context(),
        instance,
        image_path=None,
        network_info=NetworkInfo.of(vifs=[]),
        resources=GuestResources(allocations=allocations),
    )
    return instance.uuid


def inventories(libvirt, *types):
    found = VirtualGpus(libvirt, types or ("nvidia-35", "nvidia-11")).collect().providers
    return {one.name: [(i.resource_class, i.total) for i in one.inventories] for one in found}


def test_each_physical_device_of_an_enabled_type_is_a_part_of_the_host(libvirt, driver):
    both = {FIRST: [("VGPU", 2)], SECOND: [("VGPU", 2)]}
    assert inventories(libvirt) == both
    spawn(driver(), {FIRST: {"VGPU": 1}})
    assert inventories(libvirt) == both
    assert inventories(libvirt, "nvidia-35") == {}
    others = MediatedDevice(a_uuid(), SECOND, "nvidia-11")
    libvirt.nodeDeviceCreateXML(others.node_device(), 0)
    assert inventories(libvirt) == {FIRST: [("VGPU", 2)], SECOND: [("VGPU", 1)]}


def test_a_guest_gets_devices_of_the_part_that_the_scheduler_chose(libvirt, driver):
    uuid = spawn(driver(), {SECOND: {"VGPU": 2}, "": {"CUSTOM_LICENSE": 1}})
    domain = parse(libvirt.domains[uuid].xml)
    created = [parse(text) for text in libvirt.mdevs.values()]
    assert sorted(one.findtext("capability/uuid") for one in created) == sorted(mdevs_in(domain))
    assert {one.findtext("parent") for one in created} == {SECOND}
    assert {one.find("capability/type").get("id") for one in created} == {"nvidia-11"}


def test_devices_are_created_again_after_a_restart_and_removed_with_their_guest(libvirt, driver):
    first, second = (spawn(driver(), {name: {"VGPU": 1}}) for name in (FIRST, SECOND))
    before = dict(libvirt.mdevs)
    libvirt.restart()
    again = driver()
    again.power_on(first)
    again.power_on(second)
    again.power_on(second)
    assert libvirt.mdevs == before
    driver().destroy(first)
    assert [parse(text).findtext("parent") for text in libvirt.mdevs.values()] == [SECOND]
    driver().destroy(first)
    driver().destroy(second)
    assert libvirt.mdevs == {}


def test_a_device_that_is_gone_may_be_there_on_another_host(driver):
    with pytest.raises(exception.BuildFailed, match="no pci_0000_99_00_0 with a type") as failed:
        spawn(driver(), {"pci_0000_99_00_0": {"VGPU": 1}})
    assert failed.value.reschedulable


def test_types_need_their_collector():
    options = {"devices": {"enabled_mdev_types": ["nvidia-11"]}}
    with pytest.raises(exception.Invalid, match=r"needs mdev among \[compute\] collectors"):
        LibvirtSettings.from_conf(conf.of(options))
    options["compute"] = {"collectors": ["provider_config", "mdev"]}
    assert LibvirtSettings.from_conf(conf.of(options)).mdev_types == ("nvidia-11",)
