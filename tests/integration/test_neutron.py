"""Servers whose ports are those of a real Neutron, told through HTTP."""

import uuid

import pytest
import requests

from roost.rig.embedded import EmbeddedRig
from roost.rig.services.private import free_port
from tests.external.neutron import Neutron
from tests.stories.cloud import Cloud, wait_until

# openstacksdk warns of its own use of itself
pytestmark = [
    pytest.mark.timeout(900),  # the first one may have to install Neutron
    pytest.mark.filterwarnings("ignore:The 'service_type' parameter"),
    pytest.mark.filterwarnings("ignore:The _compute_attributes method"),
]
PATIENCE = 5  # seconds that a build waits for its ports
HOSTS = ("cell1-host1", "cell1-host2")
PHYSICAL = ("physnet1", "physnet2")  # one on each host
SHARED = "physnet0"  # on both
# in which Neutron derives the uuids of what agents of Open vSwitch have from its names
OPEN_VSWITCH = uuid.UUID("87ee7d5c-73bb-11e8-9008-c4d987b2a692")


@pytest.fixture(scope="module")
def neutron_and_rig(openstack_packages, tmp_path_factory):
    port = free_port()
    overrides = {
        "network": {"driver": "neutron"},
        "compute": {"collectors": ["neutron_agents"]},
        "neutron": {
            "auth_type": "none",
            "endpoint": f"http://127.0.0.1:{port}",
            "endpoint_override": f"http://127.0.0.1:{port}",
            "vif_plugging_timeout": PATIENCE,
        },
    }
    rig = EmbeddedRig(tmp_path_factory.mktemp("rig"), cells=1, hosts=2, overrides=overrides)
    folder = tmp_path_factory.mktemp("neutron")
    with Neutron(openstack_packages, folder, port=port, compute=rig.endpoint) as neutron:
        for host, network in zip(HOSTS, PHYSICAL, strict=True):
            neutron.add_agent(
                host,
                bridge_mappings={
                    network: "br-ex",
                    f"{network}-routed": "br-routed",
                    SHARED: "br-shared",
                },
                resource_provider_bandwidths={
                    bridge: {"egress": 1000, "ingress": 1000} for bridge in ("br-ex", "br-shared")
                },
                resource_provider_packet_processing_without_direction={host: 100},
            )
        rig.start()
        yield neutron, rig
        rig.stop()


@pytest.fixture(scope="module")
def network(neutron_and_rig):
    return neutron_and_rig[0].network("private")


@pytest.fixture(scope="module")
def slow(neutron_and_rig):
    return neutron_and_rig[0].network("slow", cidr="10.10.0.0/24")


@pytest.fixture
def neutron(neutron_and_rig):
    neutron = neutron_and_rig[0]
    yield neutron
    neutron.bind_all_but()


@pytest.fixture(scope="module")
def shared_cloud(neutron_and_rig):
    cloud = Cloud(neutron_and_rig[1])
    yield cloud
    cloud.close()


@pytest.fixture
def cloud(shared_cloud, neutron):
    """The rig; when the test has ended, no port is any server's."""
    yield shared_cloud
    shared_cloud.delete_all()
    assert [port for port in neutron.list("port") if port["device_id"]] == []
    assert shared_cloud.audit() == {}


def ports_of(neutron, server_id):
    return neutron.list("port", device_id=server_id)


def boot(cloud, *nics, **values):
    (server,) = cloud.wait(cloud.boot(networks=list(nics), **values), "ACTIVE")
    return server


def refused(cloud, *nics, **values):
    """Return the status and the words with which a create is refused."""
    body = {"name": "server", "flavorRef": cloud.flavor, "imageRef": cloud.image}
    networks = {"networks": list(nics)} if nics else {}
    answer = requests.post(
        f"{cloud.client.endpoint}/servers",
        json={"server": {**body, **networks, **values}},
        timeout=60,
    )
    (error,) = answer.json().values()
    return answer.status_code, error["message"]


def decide(cloud, server_id, action, **arguments):
    url = f"{cloud.client.endpoint}/servers/{server_id}/action"
    answer = requests.post(url, json={action: arguments or None}, timeout=60)
    assert answer.status_code in (202, 204), answer.text


def tell(cloud, name, server_id, tag, **more):
    event = {"name": name, "server_uuid": server_id, "tag": tag, **more}
    url = f"{cloud.client.endpoint}/os-server-external-events"
    assert requests.post(url, json={"events": [event]}, timeout=30).status_code == 200


def test_a_port_is_made_bound_to_the_host_and_goes_with_the_server(cloud, neutron, network):
    server = boot(cloud, {"uuid": network, "tag": "nic1"})
    (port,) = ports_of(neutron, server["id"])
    assert port["binding:host_id"] == server["OS-EXT-SRV-ATTR:host"]
    assert port["device_owner"].startswith("compute:")
    assert (port["project_id"], port["status"]) == ("admin", "ACTIVE")
    (address,) = server["addresses"]["private"]
    assert address["addr"] == port["fixed_ips"][0]["ip_address"]
    assert address["OS-EXT-IPS-MAC:mac_addr"] == port["mac_address"]
    cloud.delete_all()
    assert neutron.show("port", port["id"]) is None


def test_a_port_that_its_user_made_is_only_bound_and_outlives_the_server(cloud, neutron, network):
    given = neutron.make("port", network_id=network, project_id="admin", name="mine")
    server = boot(cloud, {"port": given["id"]})
    (port,) = ports_of(neutron, server["id"])
    assert port["id"] == given["id"]
    status, why = refused(cloud, {"port": given["id"]})
    assert (status, why) == (409, f"Port {given['id']} is still in use.")
    cloud.delete_all()
    left = neutron.show("port", given["id"])
    assert (left["device_id"], left["device_owner"], left["binding:host_id"]) == ("", "", "")
    assert (left["binding:profile"], left["name"]) == ({}, "mine")
    neutron.delete("port", given["id"])


def test_a_server_gets_the_address_that_it_asks_for(cloud, network):
    server = boot(cloud, {"uuid": network, "fixed_ip": "10.9.0.77"})
    assert server["addresses"]["private"][0]["addr"] == "10.9.0.77"
    status, why = refused(cloud, {"uuid": network, "fixed_ip": "10.9.0.77"})
    assert (status, why) == (400, "Fixed IP 10.9.0.77 is already in use.")


def act(cloud, server_id, action, name):
    url = f"{cloud.client.endpoint}/servers/{server_id}/action"
    return requests.post(url, json={action: {"name": name}}, timeout=60)


def test_a_running_server_joins_security_groups_and_leaves_them(cloud, neutron, network):
    group = neutron.make("security-group", name="late", project_id="admin")
    server = boot(cloud, {"uuid": network})["id"]
    (default,) = ports_of(neutron, server)[0]["security_groups"]
    assert act(cloud, server, "addSecurityGroup", "late").status_code == 202
    (port,) = ports_of(neutron, server)
    assert set(port["security_groups"]) == {default, group["id"]}
    url = f"{cloud.client.endpoint}/servers/{server}/os-security-groups"
    told = requests.get(url, timeout=60).json()["security_groups"]
    assert {one["id"] for one in told} == {default, group["id"]}
    shown = {one["name"] for one in cloud.show(server)["security_groups"]}
    assert shown == {"default", "late"}
    assert act(cloud, server, "removeSecurityGroup", group["id"]).status_code == 202
    assert ports_of(neutron, server)[0]["security_groups"] == [default]
    assert act(cloud, server, "removeSecurityGroup", "late").status_code == 404
    assert act(cloud, server, "addSecurityGroup", "nobodys").status_code == 404


def test_a_host_that_ports_cannot_be_bound_to_is_left_for_another(cloud, neutron, network):
    bad, good = cloud.plan.all_hosts
    neutron.bind_all_but(bad)
    ids = cloud.boot(count=2, networks=[{"uuid": network}])
    for server in cloud.wait(ids, "ACTIVE"):
        (port,) = ports_of(neutron, server["id"])
        assert (server["OS-EXT-SRV-ATTR:host"], port["binding:host_id"]) == (good, good)


def test_a_server_is_active_when_its_port_works_and_not_before(cloud, neutron, slow):
    (server_id,) = cloud.boot(networks=[{"uuid": slow}])
    (port,) = wait_until(lambda: ports_of(neutron, server_id), "its port")
    wait_until(lambda: cloud.show(server_id)["OS-EXT-STS:task_state"] == "spawning", "spawning")
    assert cloud.show(server_id)["status"] == "BUILD"
    tell(cloud, "network-vif-plugged", server_id, port["id"])
    cloud.wait([server_id], "ACTIVE")


def test_a_server_whose_port_does_not_work_in_time_fails_and_leaves_nothing(cloud, neutron, slow):
    (server,) = cloud.wait(cloud.boot(networks=[{"uuid": slow}]), "ERROR")
    assert "did not work within" in server["fault"]["details"]
    assert ports_of(neutron, server["id"]) == []


def test_interfaces_are_attached_and_detached(cloud, neutron, network):
    (server_id,) = cloud.boot(networks="none")
    cloud.wait([server_id], "ACTIVE")
    url = f"{cloud.client.endpoint}/servers/{server_id}/os-interface"
    given = neutron.make("port", network_id=network, project_id="admin")
    for asked in ({"net_id": network}, {"port_id": given["id"]}):
        made = requests.post(url, json={"interfaceAttachment": asked}, timeout=60)
        assert made.status_code == 200, made.text
    shown = requests.get(url, timeout=60).json()["interfaceAttachments"]
    held = {port["id"] for port in ports_of(neutron, server_id)}
    assert {one["port_id"] for one in shown} == held
    assert len(held) == 2
    for port_id in held:
        assert requests.delete(f"{url}/{port_id}", timeout=60).status_code == 202
    assert requests.get(url, timeout=60).json() == {"interfaceAttachments": []}
    assert [one["id"] for one in neutron.list("port", network_id=network)] == [given["id"]]
    neutron.delete("port", given["id"])


def test_a_port_that_is_deleted_under_a_server_goes_from_it(cloud, neutron, network):
    server = boot(cloud, {"uuid": network})
    (port,) = ports_of(neutron, server["id"])
    neutron.delete("port", port["id"])
    wait_until(lambda: cloud.show(server["id"])["addresses"] == {}, "that the address is gone")


@pytest.fixture
def router(neutron, network):
    """A router between the network of servers and one that leads outside; return the latter."""
    outside = neutron.network("outside", cidr="203.0.113.0/24", **{"router:external": True})
    (subnet,) = neutron.list("subnet", network_id=network)
    gateway = {"external_gateway_info": {"network_id": outside}}
    router = neutron.make("router", project_id="admin", **gateway)["id"]
    neutron.join("add", router, subnet["id"])
    yield outside
    neutron.join("remove", router, subnet["id"])
    neutron.delete("router", router)
    neutron.delete("network", outside)


def floating(cloud, server_id):
    """Return the floating addresses that a server shows, with their MAC addresses."""
    return [
        (one["addr"], one["OS-EXT-IPS-MAC:mac_addr"])
        for one in cloud.show(server_id)["addresses"].get("private", [])
        if one["OS-EXT-IPS:type"] == "floating"
    ]


def test_a_floating_address_comes_and_goes_as_neutron_tells(cloud, neutron, network, router):
    server = boot(cloud, {"uuid": network})["id"]
    (port,) = ports_of(neutron, server)
    made = neutron.make("floatingip", floating_network_id=router, project_id="admin")
    shown = [(made["floating_ip_address"], port["mac_address"])]
    neutron.change("floatingip", made["id"], port_id=port["id"])
    wait_until(lambda: floating(cloud, server) == shown, "that the address is there")
    found = cloud.client.get("/servers", ip=made["floating_ip_address"])["servers"]
    assert [one["id"] for one in found] == [server]
    neutron.change("floatingip", made["id"], port_id=None)
    wait_until(lambda: floating(cloud, server) == [], "that the address is gone")
    neutron.delete("floatingip", made["id"])


def test_networks_and_addresses_in_the_words_of_compute_are_neutrons(
    cloud, neutron, network, router
):
    def ask(method, path, body=None):
        url, headers = f"{cloud.client.endpoint}/{path}", {"OpenStack-API-Version": "compute 2.35"}
        answer = requests.request(method, url, json=body, headers=headers, timeout=60)
        assert answer.ok, answer.text
        return answer.json() if answer.content else None

    def act(**body):
        ask("POST", f"servers/{server}/action", body)

    brief = {"id": network, "label": "private", "cidr": "10.9.0.0/24"}
    assert brief in ask("GET", "os-tenant-networks")["networks"]
    assert ask("GET", f"os-networks/{network}")["network"]["dns1"] == "10.9.0.53"
    assert ask("GET", "os-floating-ip-pools") == {"floating_ip_pools": [{"name": "outside"}]}
    server = boot(cloud, {"uuid": network})["id"]
    made = ask("POST", "os-floating-ips", {"pool": "outside"})["floating_ip"]
    act(addFloatingIp={"address": made["ip"]})
    shown = ask("GET", f"os-floating-ips/{made['id']}")["floating_ip"]
    assert (shown["pool"], shown["instance_id"]) == ("outside", server)
    wait_until(lambda: floating(cloud, server) != [], "that the address is there")
    act(removeFloatingIp={"address": made["ip"]})
    wait_until(lambda: floating(cloud, server) == [], "that the address is gone")
    ask("DELETE", f"os-floating-ips/{made['id']}")
    assert ask("GET", "os-floating-ips") == {"floating_ips": []}
    act(addFixedIp={"networkId": network})
    wait_until(lambda: len(cloud.show(server)["addresses"]["private"]) == 2, "a second address")
    (port,) = ports_of(neutron, server)
    act(removeFixedIp={"address": port["fixed_ips"][0]["ip_address"]})
    left = [port["fixed_ips"][1]["ip_address"]]
    wait_until(
        lambda: [one["addr"] for one in cloud.show(server)["addresses"]["private"]] == left,
        "that the first is gone",
    )


@pytest.fixture(scope="module")
def flat(neutron_and_rig):
    """A network on what only the second host has."""
    return a_flat_network(neutron_and_rig[0], "flat", PHYSICAL[1], cidr="10.12.0.0/24")


def a_flat_network(neutron, name, physical, **values):
    where = {"provider:network_type": "flat", "provider:physical_network": physical}
    return neutron.network(name, **where, **values)


def create(cloud, *nics):
    """Ask for a server as ports with a resource request need it, and return its id."""
    body = {"name": "server", "flavorRef": cloud.flavor, "imageRef": cloud.image}
    answer = requests.post(
        f"{cloud.client.endpoint}/servers",
        json={"server": {**body, "networks": list(nics)}},
        headers={"OpenStack-API-Version": "compute 2.90"},
        timeout=60,
    )
    assert answer.status_code == 202, answer.text
    return answer.json()["server"]["id"]


def test_what_a_port_needs_is_claimed_and_neutron_binds_it_by_that(cloud, neutron, flat):
    policy = neutron.minimum_bandwidth(600, packets=10)
    port, other = (
        neutron.make("port", network_id=flat, project_id="admin", qos_policy_id=policy)["id"]
        for _ in range(2)
    )
    server_id = create(cloud, {"port": port})
    wait_until(lambda: neutron.show("port", port)["binding:host_id"], "that the port is bound")
    tell(cloud, "network-vif-plugged", server_id, port, status="completed")  # as its agent would
    (server,) = cloud.wait([server_id], "ACTIVE")
    assert server["OS-EXT-SRV-ATTR:host"] == HOSTS[1]
    bound = neutron.show("port", port)
    assert bound["binding:vif_type"] == "ovs"  # by the driver whose agent has the bandwidth
    groups = {one["id"] for one in bound["resource_request"]["request_groups"]}
    assert {*bound["binding:profile"]["allocation"]} == groups
    held = cloud.claims()[server_id]["allocations"]
    assert {name: held[name] for name in held if name} == {
        "neutron-openvswitch-agent": {"NET_PACKET_RATE_KILOPACKET_PER_SEC": 10},
        "neutron-openvswitch-agent:br-ex": {"NET_BW_EGR_KILOBIT_PER_SEC": 600},
    }
    (failed,) = cloud.wait([create(cloud, {"port": other})], "ERROR")
    assert "not enough NET_BW_EGR_KILOBIT_PER_SEC" in failed["fault"]["message"]
    cloud.delete_all()
    assert neutron.show("port", port)["binding:profile"] == {}
    neutron.delete("port", port)
    neutron.delete("port", other)


def test_a_server_that_moves_has_the_bandwidth_of_its_port_where_it_is(cloud, neutron):
    network = a_flat_network(neutron, "shared", SHARED, cidr="10.14.0.0/24")
    policy = neutron.minimum_bandwidth(600)
    port = neutron.make("port", network_id=network, project_id="admin", qos_policy_id=policy)["id"]
    server_id = create(cloud, {"port": port})

    def bound_to(host):
        wait_until(lambda: neutron.show("port", port)["binding:host_id"] == host, "it is bound")
        tell(cloud, "network-vif-plugged", server_id, port, status="completed")
        provider = uuid.uuid5(OPEN_VSWITCH, f"{host}:br-shared")
        profile = neutron.show("port", port)["binding:profile"]
        assert [*profile["allocation"].values()] == [str(provider)]

    wait_until(lambda: neutron.show("port", port)["binding:host_id"], "that the port is bound")
    source = neutron.show("port", port)["binding:host_id"]
    (destination,) = {*HOSTS} - {source}
    bound_to(source)
    cloud.wait([server_id], "ACTIVE")
    for answer, host in (("revertResize", source), ("confirmResize", destination)):
        decide(cloud, server_id, "migrate")
        bound_to(destination)
        cloud.wait([server_id], "VERIFY_RESIZE")
        decide(cloud, server_id, answer)
        bound_to(host)
        cloud.wait([server_id], "ACTIVE")
    claim = cloud.claims()[server_id]
    assert claim["host"] == destination
    bandwidth = claim["allocations"]["neutron-openvswitch-agent:br-shared"]
    assert bandwidth == {"NET_BW_EGR_KILOBIT_PER_SEC": 600}
    cloud.delete_all()
    neutron.delete("port", port)


def test_the_port_of_a_running_server_is_bound_to_both_hosts_until_it_has_arrived(
    cloud, neutron, network
):
    server = boot(cloud, {"uuid": network})
    (port,) = ports_of(neutron, server["id"])
    source = port["binding:host_id"]
    (destination,) = {*HOSTS} - {source}
    live = {"host": None, "block_migration": False, "disk_over_commit": False}
    for host in (destination, source):
        decide(cloud, server["id"], "os-migrateLive", **live)
        cloud.wait([server["id"]], "ACTIVE")
        assert cloud.client.server(server["id"])["OS-EXT-SRV-ATTR:host"] == host
        (bound,) = ports_of(neutron, server["id"])
        assert (bound["id"], bound["binding:host_id"]) == (port["id"], host)
        assert "migrating_to" not in bound["binding:profile"]
        assert neutron.bound_to(port["id"]) == [host]


def test_a_server_is_only_where_its_physical_network_is(cloud, neutron):
    network = a_flat_network(neutron, "far", "physnet3", cidr="10.13.0.0/24")
    (failed,) = cloud.wait([create(cloud, {"uuid": network})], "ERROR")
    assert "not at physical_network=physnet3" in failed["fault"]["message"]


def test_an_address_of_a_routed_network_says_at_which_segment_a_server_is(cloud, neutron):
    network = neutron.routed_network("routed", "physnet4", f"{PHYSICAL[1]}-routed")
    (server,) = cloud.wait([create(cloud, {"uuid": network})], "ACTIVE")
    assert server["OS-EXT-SRV-ATTR:host"] == HOSTS[1]  # physnet4 is at none
    assert server["addresses"]["routed"][0]["addr"].startswith("10.20.1.")
    (failed,) = cloud.wait([create(cloud, {"uuid": network, "fixed_ip": "10.20.0.9"})], "ERROR")
    assert "not at physical_network=physnet4" in failed["fault"]["message"]
