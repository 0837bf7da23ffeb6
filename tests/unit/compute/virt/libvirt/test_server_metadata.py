"""What a domain says of its server, for collectors of meters."""

import xml.etree.ElementTree as ET

import libvirt
import pytest

from roost import __version__
from roost.compute.virt.libvirt.elements import parse
from roost.compute.virt.libvirt.server_metadata import NAMESPACE, note_port
from roost.objects import GuestConfig
from tests.builders import a_flavor, a_vif, an_image
from tests.stories.libvirt_domains import a_domain, a_server

SPACE = {"nova": NAMESPACE}
SERVER = "metadata/nova:instance"


def a_full_server():
    flavor = a_flavor(
        name="m1 <tiny>",
        flavorid="f1",
        vcpus=2,
        memory_mb=512,
        root_gb=3,
        ephemeral_gb=4,
        swap=5,
        extra_specs={"hw_rng:allowed": "true"},
    )
    given = GuestConfig.of(user_name="Alice", project_name="The Lab")
    return a_server(
        a_vif(id="port1", ip="10.0.0.2"), flavor=flavor, image=an_image(id="i1"), provisions=given
    )


def test_meters_find_a_server_its_flavor_its_owner_its_image_and_its_ports():
    text = a_domain(server=a_full_server()).xml()
    assert f'xmlns:nova="{NAMESPACE}"' in text  # the usual prefix, for those who read no XML
    found = parse(text).find(SERVER, SPACE)

    def text_of(path):
        return found.findtext("/".join(f"nova:{one}" for one in path.split("/")), None, SPACE)

    def about(path):
        return found.find("/".join(f"nova:{one}" for one in path.split("/")), SPACE).attrib

    assert about("package") == {"version": __version__}
    assert (text_of("name"), text_of("creationTime")) == ("my server", "2026-01-02 03:04:05")
    sizes = {one: text_of(f"flavor/{one}") for one in ("memory", "disk", "swap", "ephemeral")}
    assert sizes == {"memory": "512", "disk": "3", "swap": "5", "ephemeral": "4"}
    assert (text_of("flavor/vcpus"), about("flavor")) == ("2", {"name": "m1 <tiny>", "id": "f1"})
    assert about("flavor/extraSpecs/extraSpec") == {"name": "hw_rng:allowed"}
    assert text_of("flavor/extraSpecs/extraSpec") == "true"
    assert (text_of("owner/user"), about("owner/user")) == ("Alice", {"uuid": "user"})
    assert (text_of("owner/project"), about("owner/project")) == ("The Lab", {"uuid": "project"})
    assert about("root") == {"type": "image", "uuid": "i1"}
    assert about("ports/port") == {"uuid": "port1"}
    assert about("ports/port/ip") == {"type": "fixed", "address": "10.0.0.2", "ipVersion": "4"}


def test_an_owner_without_names_has_those_of_its_ids_and_no_image_is_none():
    found = parse(a_domain(server=a_server(image=None)).xml()).find(SERVER, SPACE)
    assert found.findtext("nova:owner/nova:user", None, SPACE) == "user"
    assert found.find("nova:root", SPACE) is None


class Domain:
    """A running guest, whose definition and present state have metadata each."""

    def __init__(self, text):
        self.texts = dict.fromkeys((1, 2), text)

    def isActive(self):  # noqa: N802 - the binding's name
        return True

    def metadata(self, _kind, _namespace, flag):
        if self.texts[flag] is None:
            missing = libvirt.libvirtError("no such metadata")
            missing.err = (libvirt.VIR_ERR_NO_DOMAIN_METADATA,)
            raise missing
        return self.texts[flag]

    def setMetadata(self, _kind, text, _prefix, namespace, flag):  # noqa: N802 - the binding's
        assert "xmlns" not in text  # libvirt adds it
        self.texts[flag] = text.replace("<instance", f'<instance xmlns="{namespace}"', 1)


@pytest.fixture
def domain():
    found = parse(a_domain(server=a_full_server()).xml()).find(SERVER, SPACE)
    return Domain(ET.tostring(found, encoding="unicode"))


def ports(domain):
    return [
        [one.get("uuid") for one in parse(text).iterfind("nova:ports/nova:port", SPACE)]
        for text in domain.texts.values()
    ]


def test_ports_that_are_attached_and_detached_later_are_there_once_and_gone(domain):
    for _repeated in range(2):
        note_port(domain, "port2", a_vif(id="port2"))
    assert ports(domain) == [["port1", "port2"]] * 2
    note_port(domain, "port1", None)
    assert ports(domain) == [["port2"]] * 2


def test_a_guest_of_an_earlier_release_has_none_to_change(domain):
    domain.texts = {1: None, 2: None}
    note_port(domain, "port2", a_vif(id="port2"))
    assert domain.texts == {1: None, 2: None}
