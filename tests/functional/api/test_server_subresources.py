"""What hangs on a server: addresses, security groups, its guest's password, its place."""

import pytest

from roost import states
from roost.api.dependencies import ApiOptions
from roost.db.cell import guest_config
from roost.objects import InstanceNUMACell, InstanceNUMATopology, NetworkInfo, Vif
from tests.api_harness import ALICE, made_in
from tests.builders import CELL1, a_vif

_ACTIVE = {"vm_state": states.ACTIVE, "task_state": None, "host": "h1"}


def _vif(ip, network="private"):
    named = {"network_id": network, "network_name": network, "mac": "m", "cidr": "c"}
    return Vif.of(id=ip, ip=ip, **named, **dict.fromkeys(("gateway", "host", "tag")))


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with made_in(tmp_path_factory.mktemp("world"), ApiOptions()) as world:
        yield world


@pytest.fixture(scope="module")
def path(world):
    cell = InstanceNUMACell.of(
        id=0, cpus=[2], pcpus=[0, 1], memory_mb=512, host_cell=1, pinning=[8, 9], page_kb=4
    )
    instance = world.place(
        CELL1,
        network_info=NetworkInfo.of(vifs=[_vif("10.0.0.3"), _vif("fd00::3"), _vif("1.2.3.4", "b")]),
        numa_topology=InstanceNUMATopology.of(cells=[cell]),
        **_ACTIVE,
    )
    return f"/v2.1/servers/{instance.uuid}"


@pytest.fixture(scope="module")
def build_request(world):
    return f"/v2.1/servers/{world.build_request().uuid}"


def test_addresses_are_told_by_network(world, path):
    private = [{"version": 4, "addr": "10.0.0.3"}, {"version": 6, "addr": "fd00::3"}]
    listed = world.client.get(f"{path}/ips", token=ALICE).json
    assert listed == {"addresses": {"private": private, "b": [{"version": 4, "addr": "1.2.3.4"}]}}
    assert world.client.get(f"{path}/ips/private", token=ALICE).json == {"private": private}
    assert world.client.get(f"{path}/ips/public", token=ALICE).status_code == 404


def test_floating_addresses_are_told_with_their_kind_and_found(world):
    vif = a_vif(ip="10.0.0.77")
    vif.addresses[0].floating = ["203.0.113.77"]
    server = world.place(CELL1, network_info=NetworkInfo.of(vifs=[vif]), **_ACTIVE).uuid
    shown = world.client.get(f"/v2.1/servers/{server}", token=ALICE).json["server"]["addresses"]
    mac = {"version": 4, "OS-EXT-IPS-MAC:mac_addr": vif.mac}
    assert shown["private"] == [
        {"addr": "10.0.0.77", "OS-EXT-IPS:type": "fixed", **mac},
        {"addr": "203.0.113.77", "OS-EXT-IPS:type": "floating", **mac},
    ]
    plain = [{"version": 4, "addr": one["addr"]} for one in shown["private"]]
    ips = f"/v2.1/servers/{server}/ips"
    assert world.client.get(ips, token=ALICE).json == {"addresses": {"private": plain}}
    assert world.client.get(f"{ips}/private", token=ALICE).json == {"private": plain}
    for pattern in ("203.0.113.77", "203.0.113", "10.0.0.77"):
        found = world.client.get(f"/v2.1/servers?ip={pattern}", token=ALICE).json["servers"]
        assert [one["id"] for one in found] == [server]


def test_what_is_not_placed_yet_has_no_addresses(world, build_request):
    assert world.client.get(f"{build_request}/ips", token=ALICE).json == {"addresses": {}}


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"addFixedIp": {"networkId": "1"}}, 400),
        ({"removeFixedIp": {"address": "10.0.0.9"}}, 400),
        ({"removeFixedIp": {"address": "10.0.0.3"}}, 400),
        ({"addFloatingIp": {"address": "192.0.2.1"}}, 404),
        ({"removeFloatingIp": {"address": "192.0.2.1"}}, 404),
    ],
)
def test_addresses_do_not_come_by_themselves(world, path, body, status):
    answer = world.client.post(f"{path}/action", body, version="2.43", token=ALICE)
    assert answer.status_code == status
    answer = world.client.post(f"{path}/action", body, version="2.44", token=ALICE)
    assert answer.status_code == 404
    (name,) = body
    assert answer.json["itemNotFound"]["message"] == f"There is no action {name} in version 2.44."


def test_the_guests_password_is_told_until_it_is_cleared(world, path):
    password = f"{path}/os-server-password"
    assert world.client.get(password, token=ALICE).json == {"password": ""}
    with world.databases[CELL1].begin() as session:
        guest_config.save_password(session, path.rpartition("/")[2], "cipher")
    assert world.client.get(password, token=ALICE).json == {"password": "cipher"}
    assert world.client.delete(password, token=ALICE).status_code == 204
    assert world.client.get(password, token=ALICE).json == {"password": ""}


def test_what_is_not_placed_yet_has_no_password(world, build_request):
    password = f"{build_request}/os-server-password"
    assert world.client.get(password, token=ALICE).json == {"password": ""}
    assert world.client.delete(password, token=ALICE).status_code == 409


def test_a_server_tells_its_cells_and_to_administrators_where_they_are(world, path):
    cell = {"memory_mb": 512, "vcpu_set": [0, 1, 2], "siblings": []}
    place = {"host_node": 1, "cpu_pinning": {"0": 8, "1": 9}}
    asked = f"{path}/topology"
    told = world.client.get(asked, token=ALICE, version="2.78").json
    assert told == {"nodes": [cell], "pagesize_kb": 4}
    assert world.client.get(asked, version="2.78").json["nodes"] == [cell | place]
    assert world.client.get(asked, version="2.77").status_code == 404


def test_a_server_without_such_demands_has_no_cells(world, build_request):
    told = world.client.get(f"{build_request}/topology", token=ALICE, version="2.78").json
    assert told == {"nodes": [], "pagesize_kb": None}


def test_who_divides_the_disk_may_be_changed(world, path):
    body = {"server": {"OS-DCF:diskConfig": "AUTO"}}
    changed = world.client.put(path, body, token=ALICE).json["server"]
    assert changed["OS-DCF:diskConfig"] == "AUTO"


def test_diagnostics_are_alike_for_all_hypervisors_since_2_48(world, path):
    told = world.client.get(f"{path}/diagnostics", version="2.48").json
    counts = {name: told[name] for name in ("num_cpus", "num_nics", "num_disks", "config_drive")}
    assert counts == {"num_cpus": 1, "num_nics": 1, "num_disks": 1, "config_drive": False}
    assert told["memory_details"] == {"maximum": 512, "used": 3}
    before = world.client.get(f"{path}/diagnostics", version="2.47").json
    assert before == before | {
        "cpu0_time": 5,
        "memory": 524288,
        "disk0_read_bytes": 4,
        "nic0_mac_address": "m",
        "nic0_rx_octets": 2,
    }


def test_what_has_no_host_has_no_diagnostics(world, build_request):
    assert world.client.get(f"{build_request}/diagnostics").status_code == 409
