"""OpenStack's documents: what each version tells, and what cloud-init reads of it."""

import base64
import dataclasses
import json

import pytest

from roost.guestdata import openstack, vendor_data
from roost.objects import NetworkInfo, VifAddress
from tests.unit.guestdata.conftest import IMAGE, IPV6, USER_DATA, UUID, a_vif

# What a document or a fact came with.
DOCUMENTS = {
    "password": "2013-04-04",
    "vendor_data.json": "2013-10-17",
    "network_data.json": "2015-10-15",
    "vendor_data2.json": "2016-10-06",
}
FACTS = {
    "random_seed": "2013-04-04",
    "project_id": "2015-10-15",
    "devices": "2016-06-30",
    "dedicated_cpus": "2020-10-14",
}


def test_the_newest_version_tells_all_of_an_instance(about):
    told = openstack.meta_data(about)
    assert told.pop("random_seed") == base64.b64encode(b"\x01" * 512).decode()
    key = about.instance.keypair.public_key
    assert told == {
        "uuid": UUID,
        "name": "My web",
        "hostname": "web.novalocal",
        "launch_index": 2,
        "availability_zone": "nova",
        "meta": {"role": "web"},
        "public_keys": {"mine": key},
        "keys": [{"name": "mine", "type": "ssh", "data": key}],
        "files": [{"content_path": "/content/0000", "path": "/etc/banner"}],
        "project_id": "project",
        "devices": [
            {
                "type": "nic",
                "bus": "none",
                "address": "none",
                "mac": IPV6.mac,
                "tags": ["storage"],
                "vf_trusted": False,
            },
            {"type": "disk", "bus": "none", "address": "none", "tags": ["scratch"]},
        ],
        "dedicated_cpus": [1, 2, 3],
    }


def test_what_nobody_has_said_is_left_out(bare):
    told = openstack.meta_data(bare)
    assert not {"meta", "keys", "public_keys", "files", "admin_pass"} & {*told}
    assert told["devices"] == told["dedicated_cpus"] == []
    assert "openstack/latest/user_data" not in openstack.tree(bare)


@pytest.mark.parametrize(("name", "since"), FACTS.items())
def test_a_fact_is_told_from_its_version_on(name, since, about):
    telling = [each for each in openstack.VERSIONS if name in openstack.meta_data(about, each)]
    assert telling == [each for each in openstack.DATED if each >= since] + ["latest"]


@pytest.mark.parametrize(("name", "since"), DOCUMENTS.items())
def test_a_document_is_there_from_its_version_on(name, since, about):
    paths = openstack.tree(about)
    having = [each for each in openstack.VERSIONS if f"openstack/{each}/{name}" in paths]
    assert having == [each for each in openstack.DATED if each >= since] + ["latest"]


def test_user_data_and_files_come_byte_by_byte(about):
    files = openstack.tree(about)
    assert files["openstack/2012-08-10/user_data"] == USER_DATA
    assert files["openstack/content/0000"] == b"hello"


def test_vendor_data_of_a_file_is_called_static_among_others(about):
    files = openstack.tree(about)
    assert json.loads(files["openstack/latest/vendor_data.json"]) == {"proxy": "http://proxy"}
    assert json.loads(files["openstack/latest/vendor_data2.json"]) == {
        "static": {"proxy": "http://proxy"}
    }


def test_a_service_is_asked_about_a_guest_in_the_documented_words(about):
    about = dataclasses.replace(about, boot_roles=["member", "reader"])
    assert vendor_data.question(about) == {
        "project-id": "project",
        "instance-id": UUID,
        "image-id": IMAGE,
        "user-data": base64.b64encode(USER_DATA).decode(),
        "hostname": "web.novalocal",
        "metadata": {"role": "web"},
        "boot-roles": "member,reader",
    }


def test_a_host_name_keeps_the_domain_that_it_has(about_with):
    assert openstack.meta_data(about_with(hostname="web.example.org"))["hostname"] == (
        "web.example.org"
    )


def test_interfaces_are_told_as_links_and_networks():
    assert openstack.of([a_vif(), IPV6]) == {
        "links": [
            {
                "id": "tap11111111-22",
                "vif_id": a_vif().id,
                "type": "phy",
                "mtu": None,
                "ethernet_mac_address": "fa:16:3e:00:00:01",
            },
            {
                "id": "tap66666666-22",
                "vif_id": IPV6.id,
                "type": "phy",
                "mtu": None,
                "ethernet_mac_address": "fa:16:3e:00:00:02",
            },
        ],
        "networks": [
            {
                "id": "network0",
                "type": "ipv4",
                "link": "tap11111111-22",
                "network_id": a_vif().network_id,
                "ip_address": "10.0.0.5",
                "netmask": "255.255.255.0",
                "routes": [{"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "10.0.0.1"}],
                "services": [],
            },
            {
                "id": "network1",
                "type": "ipv6",
                "link": "tap66666666-22",
                "network_id": IPV6.network_id,
                "ip_address": "fd00::5",
                "netmask": "ffff:ffff:ffff:ffff::",
                "routes": [{"network": "::", "netmask": "::", "gateway": "fd00::1"}],
                "services": [],
            },
        ],
        "services": [],
    }


def test_an_interface_without_address_or_gateway_is_a_link_and_routes_nothing():
    told = openstack.of([a_vif(ip="", cidr="", gateway=None), a_vif(gateway=None)])
    assert len(told["links"]) == 2
    assert [network["routes"] for network in told["networks"]] == [[]]


def an_address(**values):
    address = {"ip": "10.0.0.5", "subnet_id": "s", "cidr": "10.0.0.0/24", "dhcp": False}
    return VifAddress.of(**address | values)


def test_each_address_of_an_interface_is_a_network_of_the_same_link():
    addresses = [an_address(), an_address(ip="fd00::5", cidr="fd00::/64", dhcp=True)]
    told = openstack.of([a_vif(addresses=addresses, mtu=1450, type="ovs")])
    (link,) = told["links"]
    assert link["type"] == "ovs"
    assert [(each["id"], each["type"]) for each in told["networks"]] == [
        ("network0", "ipv4"),
        ("network1", "ipv6_dhcp"),
    ]
    assert {each["link"] for each in told["networks"]} == {link["id"]}


def test_what_a_dhcp_server_tells_is_left_to_it():
    (network,) = openstack.of([a_vif(addresses=[an_address(dhcp=True)])])["networks"]
    assert not {"ip_address", "netmask", "routes"} & {*network}


def test_the_mtu_is_told_where_no_dhcp_server_tells_it():
    fixed, by_dhcp = an_address(), an_address(ip="fd00::5", cidr="fd00::/64", dhcp=True)
    vifs = [a_vif(addresses=given, mtu=1450) for given in ([fixed], [fixed, by_dhcp], [])]
    assert [link["mtu"] for link in openstack.of(vifs)["links"]] == [1450, None, 1450]


@pytest.mark.parametrize("mode", ["slaac", "dhcpv6-stateless", "dhcpv6-stateful"])
def test_how_a_guest_gets_its_address_of_ipv6_is_told_with_all_that_it_will_be(mode):
    values = {"ip": "fd00::5", "cidr": "fd00::/64", "gateway": "fd00::1", "dns": ["fd00::53"]}
    address = an_address(**values, dhcp=True, ipv6_mode=mode)
    (network,) = openstack.of([a_vif(addresses=[address])])["networks"]
    assert network["type"] == f"ipv6_{mode}"
    assert (network["ip_address"], network["netmask"]) == ("fd00::5", "ffff:ffff:ffff:ffff::")
    assert network["routes"] == [{"network": "::", "netmask": "::", "gateway": "fd00::1"}]
    assert network["services"] == [{"type": "dns", "address": "fd00::53"}]


def test_routes_and_name_servers_of_a_subnet_are_told():
    route = {"destination": "10.8.0.0/16", "nexthop": "10.0.0.2"}
    address = an_address(gateway="10.0.0.1", routes=[route], dns=["9.9.9.9"])
    told = openstack.of([a_vif(addresses=[address, address])])
    name_server = {"type": "dns", "address": "9.9.9.9"}
    assert told["networks"][0]["services"] == told["services"] == [name_server]
    assert told["networks"][0]["routes"] == [
        {"network": "0.0.0.0", "netmask": "0.0.0.0", "gateway": "10.0.0.1"},
        {"network": "10.8.0.0", "netmask": "255.255.0.0", "gateway": "10.0.0.2"},
    ]


def test_the_vlan_that_a_guest_sees_is_told_from_its_version_on(about):
    direct = a_vif(tag="fast", vnic_type="direct", details={"vlan": "12"})
    unseen = a_vif(tag="slow", details={"vlan": "12"})
    about = dataclasses.replace(about, network_info=NetworkInfo.of(vifs=[direct, unseen]))

    def vlans(version):
        return [nic.get("vlan") for nic in openstack.meta_data(about, version)["devices"][:2]]

    assert vlans("2016-10-06") == [None, None]
    assert vlans("2017-02-22") == [12, None]
