"""Sessions of the clients that people have, against a rig without Keystone, Glance and Neutron."""

import openstack
import pytest
from keystoneauth1 import loading, session
from novaclient import client as novaclient

from roost.rig import clouds

pytestmark = pytest.mark.filterwarnings("ignore")  # what clients warn of is theirs


@pytest.fixture(scope="module")
def cloud_file(rig):
    clouds.write(rig.plan)
    return clouds.clouds_file(rig.plan)


@pytest.fixture(scope="module")
def sdk(cloud_file):
    config = openstack.config.OpenStackConfig(config_files=[str(cloud_file)])
    with openstack.connection.Connection(config=config.get_one(clouds.CLOUD)) as connection:
        yield connection


def test_openstacksdk_boots_from_names_and_deletes(sdk):
    assert sdk.get_image("tiny").status == "active"
    assert sdk.get_network("private").name == "private"
    server = sdk.create_server(
        "sdk", image="tiny", flavor="m1.tiny", network="private", wait=True, auto_ip=False
    )
    assert server.status == "ACTIVE"
    assert "sdk" in [one.name for one in sdk.list_servers()]
    (port,) = sdk.list_ports(filters={"device_id": server.id})
    assert port.fixed_ips[0]["ip_address"] in str(server.addresses)
    assert sdk.delete_server("sdk", wait=True)
    assert sdk.get_server("sdk") is None


def test_openstacksdk_uploads_an_image_and_reads_it(sdk, tmp_path):
    file = tmp_path / "mine.raw"
    file.write_bytes(b"m" * 200_000)  # more than the body of any other request
    image = sdk.create_image("mine", filename=str(file), disk_format="raw", wait=True)
    assert (image.status, image.size) == ("active", 200_000)
    read = tmp_path / "read.raw"
    sdk.image.download_image(image.id, output=str(read))
    assert read.read_bytes() == file.read_bytes()
    sdk.image.update_image(image.id, name="renamed", os_distro="debian")
    assert sdk.get_image("renamed").os_distro == "debian"
    sdk.image.add_member(image.id, member_id="other")
    sdk.image.update_member("other", image.id, status="accepted")
    (member,) = sdk.image.members(image.id)
    assert (member.member_id, member.status) == ("other", "accepted")
    sdk.image.remove_member("other", image.id)
    assert sdk.delete_image("renamed", wait=True)


def test_openstacksdk_makes_a_network_and_a_port_and_boots_on_it(sdk):
    network = sdk.network.create_network(name="backend")
    sdk.network.create_subnet(network_id=network.id, cidr="10.44.0.0/24", ip_version=4)
    port = sdk.network.create_port(
        network_id=network.id, name="fixed", fixed_ips=[{"ip_address": "10.44.0.9"}]
    )
    server = sdk.create_server(
        "ported", image="tiny", flavor="m1.tiny", nics=[{"port-id": port.id}], wait=True,
        auto_ip=False,
    )  # fmt: skip
    assert server.addresses["backend"][0]["addr"] == "10.44.0.9"
    assert sdk.network.get_port(port.id).status == "ACTIVE"
    assert sdk.delete_server("ported", wait=True)


def test_openstacksdk_tags_subnets_and_ports(sdk):
    network = sdk.network.create_network(name="tagged", is_admin_state_up=False)
    subnet = sdk.network.create_subnet(network_id=network.id, cidr="10.46.0.0/24", ip_version=4)
    sdk.network.set_tags(subnet, ["low"])
    assert [one.id for one in sdk.network.subnets(tags="low")] == [subnet.id]
    port = sdk.network.create_port(network_id=network.id)
    sdk.network.set_tags(port, ["oak"])
    assert [one.id for one in sdk.network.ports(any_tags="oak,elm")] == [port.id]
    sdk.network.set_tags(port, [])
    assert sdk.network.get_port(port.id).tags == []
    sdk.network.delete_port(port.id)
    sdk.network.delete_network(network.id)


def test_novaclient_creates_stops_starts_and_deletes(rig, sdk):
    options = loading.get_plugin_loader("none")
    auth = options.load_from_options(endpoint=rig.endpoint)
    nova = novaclient.Client("2.87", session=session.Session(auth=auth))
    flavor = nova.flavors.find(name="m1.tiny")
    server = nova.servers.create("nova", sdk.get_image("tiny").id, flavor.id, nics="auto")
    sdk.compute.wait_for_server(sdk.compute.get_server(server.id), interval=0.1)
    nova.servers.stop(server)
    stopped = sdk.compute.get_server(server.id)
    sdk.compute.wait_for_status(stopped, "SHUTOFF", interval=0.1)
    assert [one.name for one in nova.servers.list(search_opts={"status": "SHUTOFF"})] == ["nova"]
    nova.servers.start(server)
    sdk.compute.wait_for_server(stopped, interval=0.1)
    nova.servers.delete(server)
    sdk.compute.wait_for_delete(stopped, interval=0.1)
    assert nova.servers.list() == []
