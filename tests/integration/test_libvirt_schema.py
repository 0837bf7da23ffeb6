"""What libvirt is told of guests fits libvirt's own schema."""

import pathlib

import pytest
from lxml import etree

from roost.compute.virt.libvirt.elements import parse
from roost.compute.virt.libvirt.firmware import DirectKernel
from roost.compute.virt.libvirt.identity import note_rescued, written
from roost.compute.virt.libvirt.mdevs import MediatedDevice
from roost.compute.virt.libvirt.rescue import Rescuer
from tests.stories.libvirt_domains import DOMAINS, FOLDER, UUID

SCHEMA = pathlib.Path("/usr/share/libvirt/schemas/domain.rng")


@pytest.fixture(scope="module")
def schema():
    assert SCHEMA.exists(), "libvirt's schemas are missing: run sh tools/packages.sh as root"
    return etree.RelaxNG(etree.parse(SCHEMA))


@pytest.mark.parametrize("name", DOMAINS)
def test_what_libvirt_is_told_fits_its_schema(schema, name):
    document = etree.fromstring(DOMAINS[name].xml())
    assert schema.validate(document), schema.error_log


def test_a_mediated_device_fits_the_schema_of_node_devices():
    schema = etree.RelaxNG(etree.parse(SCHEMA.with_name("nodedev.rng")))
    device = MediatedDevice(UUID, "pci_0000_84_00_0", "nvidia-11")
    document = etree.fromstring(device.node_device())
    name = etree.Element("name")  # libvirt gives it one, but the schema wants it
    name.text = "new"
    document.insert(0, name)
    assert schema.validate(document), schema.error_log


@pytest.mark.parametrize(
    "rescuer", [Rescuer(), Rescuer(bus="usb"), Rescuer(is_cd=True, bus="scsi")], ids=str
)
@pytest.mark.parametrize(
    "name",
    ["with all", "with all that is asked for", "with its own kernel", "of a machine with all"],
)
def test_a_rescued_guest_fits_the_schema_too(schema, name, rescuer):
    domain = parse(DOMAINS[name].xml())
    other = DirectKernel(FOLDER / "rescue.kernel", FOLDER / "rescue.ramdisk", None)
    rescuer.put_into(domain, FOLDER / "rescue.qcow2", other)
    note_rescued(domain, rescued=True)
    assert schema.validate(etree.fromstring(written(domain))), schema.error_log
