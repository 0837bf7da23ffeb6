"""Which devices of a host guests may have, and which one a guest gets."""

import json
import xml.etree.ElementTree as ET

import pytest

from roost import conf, exception
from roost.compute.virt.driver import GuestResources
from roost.compute.virt.libvirt import pci
from roost.compute.virt.libvirt.driver import LibvirtDriver
from roost.compute.virt.libvirt.elements import parse
from roost.compute.virt.libvirt.settings import LibvirtSettings
from roost.objects import NetworkInfo, PciAllocation
from tests.builders import a_context, a_flavor, an_instance
from tests.stories.libvirt_domains import a_domain

GPU = {"vendor_id": "10de", "product_id": "1eb8"}


def told(at, *, vendor="10de", product="1eb8", inside="", node=0):
    """Return a device (domain:bus:slot.function in hexadecimal) as libvirt tells of it."""
    domain, bus, rest = at.split(":")
    slot, function = rest.split(".")
    numbers = zip(("domain", "bus", "slot", "function"), (domain, bus, slot, function), strict=True)
    where = "".join(f"<{name}>{int(text, 16)}</{name}>" for name, text in numbers)
    return parse(
        f"""<device><name>pci</name><capability type="pci"><class>0x030200</class>{where}
        <product id="0x{product}">P</product><vendor id="0x{vendor}">V</vendor>{inside}
        <numa node="{node}"/></capability></device>"""
    )


def part_of(at):
    domain, bus, rest = at.split(":")
    slot, function = rest.split(".")
    return f"""<capability type="phys_function"><address domain="0x{domain}" bus="0x{bus}"
        slot="0x{slot}" function="0x{function}"/></capability>"""


def found(devices, *specs):
    return pci.devices(devices, pci.parse([json.dumps(spec) for spec in specs]))


def places(devices):
    return ["{}:{}:{}.{}".format(*device.address) for device in devices]


DEVICES = [
    told("0000:0a:00.0"),
    told("0000:0a:00.1", product="1eb9"),
    told("0000:1f:10.2", node=1),
    told("0001:0a:00.0", vendor="8086", product="1520"),
]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (GPU, ["0000:0a:00.0", "0000:1f:10.2"]),
        ({"vendor_id": "8086"}, ["0001:0a:00.0"]),
        ({"vendor_id": "10DE", "product_id": "*"},
         ["0000:0a:00.0", "0000:0a:00.1", "0000:1f:10.2"]),
        ({"address": "0000:0a:00.1"}, ["0000:0a:00.1"]),
        ({"address": "*:0a:00.*"}, ["0000:0a:00.0", "0000:0a:00.1", "0001:0a:00.0"]),
        ({"address": ":0a:00."}, ["0000:0a:00.0", "0000:0a:00.1", "0001:0a:00.0"]),
        ({"address": "a:0.0"}, ["0000:0a:00.0", "0001:0a:00.0"]),
        ({"address": {"bus": "1[0-9a-f]", "function": "[2-7]"}}, ["0000:1f:10.2"]),
        (GPU | {"address": "0000:1f:10.2"}, ["0000:1f:10.2"]),
    ],
)  # fmt: skip
def test_devices_are_given_away_that_the_operator_names(spec, expected):
    assert places(found(DEVICES, spec)) == expected


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("{", "it is not JSON"),
        ('"gpu"', "it must be a JSON object"),
        ("{}", "must name a vendor_id, a product_id or an address"),
        ('{"physical_network": "left"}', "must name a vendor_id"),
        ('{"vendor_id": "10d"}', "vendor_id must be four hexadecimal digits"),
        ('{"address": "there"}', "address must be like"),
        ('{"address": ""}', "address must be like"),
        ('{"address": {"port": "1"}}', "or an object of domain, bus, slot, function"),
        ('{"address": {"bus": "["}}', "the bus of its address is no pattern"),
        ('{"vendor_id": "10de", "rack": 7}', "tags must be strings"),
        ('{"devname": "eth0"}', "devname is not supported"),
    ],
)
def test_an_entry_that_cannot_be_meant_is_named(entry, why):
    with pytest.raises(exception.Invalid, match="device_spec has a bad entry") as refused:
        LibvirtSettings.from_conf(conf.of({"pci": {"device_spec": [entry]}}))
    assert why in refused.value.message


def test_pools_are_of_one_kind_each_and_a_device_goes_by_the_first_entry_that_it_meets():
    specs = [GPU | {"address": "0000:1f:10.2", "speed": "high"}, GPU, GPU | {"speed": "low"}]
    devices = [*DEVICES, told("0000:0b:00.0")]
    assert [
        (pool.numa_node, pool.count, pool.dev_type, pool.tags)
        for pool in pci.pools(found(devices, *specs))
    ] == [(0, 2, "type-PCI", {}), (1, 1, "type-PCI", {"speed": "high"})]


def test_a_physical_function_is_not_given_away_beside_those_that_are_parts_of_it():
    functions = '<capability type="virt_functions" maxCount="7"/>'
    whole = told("0000:02:00.0", product="10c9", inside=functions)
    part = told("0000:02:10.0", product="10ca", inside=part_of("0000:02:00.0"))
    (alone,) = found([whole, part], {"product_id": "10c9"})
    assert alone.kind.dev_type == "type-PF"
    (only,) = found([whole, part], {"vendor_id": "10de"})
    assert (only.kind.dev_type, places([only])) == ("type-VF", ["0000:02:10.0"])


def asked(count=1, **values):
    kind = GPU | {"dev_type": "type-PCI", "numa_node": 0, "tags": {}}
    return PciAllocation.of(**{"alias": "gpu", "count": count} | kind | values)


def test_a_guest_gets_free_devices_of_the_kind_that_the_scheduler_chose():
    devices = found([*DEVICES, told("0000:0b:00.0"), told("0000:0c:00.0")], GPU)
    first = pci.choose([asked(2)], devices, set())
    assert places(first) == ["0000:0a:00.0", "0000:0b:00.0"]
    plan = parse(a_domain(devices=tuple(first)).xml())
    used = pci.taken([plan, parse(a_domain().xml())])
    assert places(pci.choose([asked()], devices, used)) == ["0000:0c:00.0"]
    assert places(pci.choose([asked(numa_node=1)], devices, used)) == ["0000:1f:10.2"]
    assert places(pci.choose([asked(), asked()], devices, set())) == [
        "0000:0a:00.0",
        "0000:0b:00.0",
    ]


def test_too_few_devices_may_be_enough_elsewhere():
    with pytest.raises(exception.BuildFailed, match="for gpu: 3 requested, 1 free") as failed:
        pci.choose([asked(3)], found(DEVICES, GPU), set())
    assert failed.value.reschedulable


def test_devices_that_come_and_go_are_followed(driver):
    found = driver()
    assert [pool.count for pool in found.resources().pci_pools] == [2]
    pci_devices = found.collectors()["pci"]
    assert [pool.count for pool in pci_devices.collect().pci_pools] == [2]
    del found._connection._devices[-1]
    assert [pool.count for pool in pci_devices.collect().pci_pools] == [1]
    spawn(found, an_instance(flavor=a_flavor(root_gb=0)))
    with pytest.raises(exception.BuildFailed, match="1 requested, 0 free"):
        spawn(found, an_instance(flavor=a_flavor(root_gb=0)))


class Libvirt:
    """A libvirt that tells of a host, and takes whatever guests it is given."""

    def __init__(self, devices):
        self._devices = devices
        self.defined = []

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
        assert flags
        return self._devices

    def lookupByUUIDString(self, _uuid):  # noqa: N802 - the binding's name
        raise exception.NotFound("There is no such guest on this host.")

    def defineXML(self, xml):  # noqa: N802 - the binding's name
        self.defined.append(parse(xml))


class NodeDevice:
    """A device in libvirt's hands."""

    def __init__(self, element):
        self._element = element

    def XMLDesc(self):  # noqa: N802 - the binding's name
        return ET.tostring(self._element, encoding="unicode")


@pytest.fixture
def driver(tmp_path):
    """Make the driver of a host with two GPUs, again as if its daemon was started again."""
    specs = [json.dumps(GPU | {"address": {"domain": "0000", "bus": "0[ab]"}})]
    settings = LibvirtSettings(
        node="h1", folder=tmp_path, virt_type="qemu", devices=pci.parse(specs)
    )

    def driver():
        made = LibvirtDriver(settings)
        devices = [*DEVICES, told("0000:0b:00.0")]
        made._connection = Libvirt([NodeDevice(each) for each in devices])
        return made

    return driver


def spawn(driver, instance):
    """Spawn a guest with one GPU; where it would be started it is not there."""
    with pytest.raises(exception.NotFound):
        driver.spawn(
            a_context(),
            instance,
            image_path=None,
            network_info=NetworkInfo.of(vifs=[]),
            resources=GuestResources(pci=(asked(),)),
        )
    return driver._connection.defined[-1]


def test_devices_belong_to_guests_over_restarts_until_they_are_removed(driver):
    first, second = driver(), driver()
    assert [(pool.product_id, pool.count) for pool in first.resources().pci_pools] == [("1eb8", 2)]
    instances = [an_instance(flavor=a_flavor(root_gb=0)) for _ in range(3)]
    assert pci.taken([spawn(first, instances[0])]) == {("0000", "0a", "00", "0")}
    assert pci.taken([spawn(second, instances[1])]) == {("0000", "0b", "00", "0")}
    with pytest.raises(exception.BuildFailed, match="1 requested, 0 free"):
        spawn(second, instances[2])
    driver().destroy(instances[0].uuid)
    assert pci.taken([spawn(second, instances[2])]) == {("0000", "0a", "00", "0")}
