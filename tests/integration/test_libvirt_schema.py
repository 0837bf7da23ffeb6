"""What libvirt is told of guests fits libvirt's own schema."""

import pathlib

import pytest
from lxml import etree

from roost.compute.virt.libvirt import disks
from roost.compute.virt.libvirt.elements import parse
from roost.compute.virt.libvirt.identity import note_rescued, written
from tests.stories.domains import DOMAINS, FOLDER

SCHEMA = pathlib.Path("/usr/share/libvirt/schemas/domain.rng")


@pytest.fixture(scope="module")
def schema():
    assert SCHEMA.exists(), "libvirt's schemas are missing: run sh tools/packages.sh as root"
    return etree.RelaxNG(etree.parse(SCHEMA))


@pytest.mark.parametrize("name", DOMAINS)
def test_what_libvirt_is_told_fits_its_schema(schema, name):
    document = etree.fromstring(DOMAINS[name].xml())
    assert schema.validate(document), schema.error_log


@pytest.mark.parametrize("name", ["with all", "with all that is asked for", "with its own kernel"])
def test_a_rescued_guest_fits_the_schema_too(schema, name):
    domain = parse(DOMAINS[name].xml())
    disks.start_from(domain, FOLDER / "rescue.qcow2")
    note_rescued(domain, rescued=True)
    assert schema.validate(etree.fromstring(written(domain))), schema.error_log
