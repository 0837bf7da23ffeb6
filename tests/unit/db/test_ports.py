"""Addresses: nobody has another's, and an instance keeps its own."""

import threading

import pytest

from roost import exception, networks
from roost.db.cell import instances, ports
from roost.db.engine import retried
from roost.objects import NetworkRequest
from tests.builders import a_uuid, an_instance

PRIVATE, PUBLIC, TINY = NETWORKS = networks.parse(
    ["private=10.0.0.0/16", "public=192.0.2.0/24", "tiny=198.51.100.0/29"]
)


def a_request(network=None, **values):
    fields = {"network_id": network.id if network else None, "fixed_ip": None}
    return NetworkRequest.of(**fields | {"port_id": None, "tag": None} | values)


def id_of(vif):
    return vif.id


@pytest.fixture
def allocate(cell_db):
    """Allocate in a transaction of its own."""

    @retried
    def allocate(*requests, instance_uuid=None, host="h1", networks=NETWORKS):
        with cell_db.begin() as session:
            return ports.allocate(
                session,
                instance_uuid=instance_uuid or a_uuid(),
                host=host,
                requests=requests,
                networks=networks,
            ).vifs

    return allocate


def test_a_request_without_a_network_gets_the_first_one(allocate):
    (vif,) = allocate(a_request(tag="nic"))
    assert (vif.network_id, vif.network_name) == (PRIVATE.id, "private")
    assert (vif.cidr, vif.gateway) == ("10.0.0.0/16", "10.0.0.1")
    assert (vif.host, vif.tag) == ("h1", "nic")
    assert vif.ip.startswith("10.0.")
    assert vif.mac.startswith("02:")


def test_an_instance_keeps_its_ports_and_they_move_along(allocate):
    uuid = a_uuid()
    before = allocate(a_request(), a_request(PUBLIC), instance_uuid=uuid, host="h1")
    after = allocate(a_request(), a_request(PUBLIC), instance_uuid=uuid, host="h2")
    assert [(vif.id, vif.ip, vif.mac) for vif in before] == [
        (vif.id, vif.ip, vif.mac) for vif in after
    ]
    assert {vif.host for vif in after} == {"h2"}


def test_an_allocation_that_ended_half_way_is_completed(allocate):
    uuid = a_uuid()
    (first,) = allocate(a_request(), instance_uuid=uuid)
    vifs = allocate(a_request(), a_request(), instance_uuid=uuid)
    assert vifs[0] == first
    assert len(vifs) == 2


def test_a_fixed_address_that_is_taken_is_a_conflict(allocate):
    allocate(a_request(fixed_ip="10.0.7.7"))
    with pytest.raises(exception.AddressInUse, match=r"10\.0\.7\.7"):
        allocate(a_request(fixed_ip="10.0.7.7"))


@pytest.mark.parametrize(
    "address", ["10.1.0.5", "10.0.0.0", "10.0.0.1", "10.0.255.255", "fe80::1", "ten"]
)
def test_an_address_that_the_network_cannot_give_is_refused(allocate, address):
    with pytest.raises(exception.Invalid, match=address):
        allocate(a_request(fixed_ip=address))


def test_a_mac_address_that_another_has_is_named(allocate):
    port = {"mac": "02:00:00:00:00:01"}
    allocate(a_request(**port, port_id=a_uuid(), fixed_ip="10.0.7.7"))
    with pytest.raises(exception.AddressInUse, match="02:00:00:00:00:01"):
        allocate(a_request(**port, port_id=a_uuid(), fixed_ip="10.0.7.8"))


def test_drawing_addresses_has_an_end(allocate, monkeypatch):
    """Whatever is drawn, somebody else has just taken it."""
    drawn = []
    monkeypatch.setattr(ports, "insert_once", lambda *drawing: drawn.append(drawing))
    with pytest.raises(exception.NoCapacity):
        allocate(a_request(network_id=a_uuid(), network_name="mine", cidr="fd00::/64"))
    assert 8 < len(drawn) <= 64


def test_a_network_that_a_user_made_comes_with_the_request(allocate):
    asked = a_request(network_id=a_uuid(), network_name="mine", cidr="10.77.0.0/24")
    (vif,) = allocate(asked)
    assert (vif.network_name, vif.cidr, vif.gateway) == ("mine", "10.77.0.0/24", "10.77.0.1")
    assert vif.ip.startswith("10.77.0.")


def test_cells_leave_the_last_quarter_to_ports_made_beforehand(allocate):
    asked = a_request(network_id=a_uuid(), network_name="mine", cidr="10.77.0.0/24")
    lasts = [int(allocate(asked)[0].ip.split(".")[-1]) for _ in range(30)]
    assert max(lasts) < 192


def test_ports_of_those_who_live_are_listed_by_id(allocate, cell_db):
    live, other = an_instance(project_id="mine"), an_instance(project_id="other")
    with cell_db.begin() as session:
        instances.create(session, live)
        instances.create(session, other)
    mine = sorted(allocate(a_request(), a_request(PUBLIC), instance_uuid=live.uuid), key=id_of)
    others = allocate(a_request(), instance_uuid=other.uuid)
    allocate(a_request())  # nobody's

    def listed(project_id="mine", limit=9, after="", **wanted):
        with cell_db.read() as session:
            found = ports.list_live(
                session, project_id=project_id, wanted=wanted, after=after, limit=limit
            )
        return [port.id for port in found]

    assert listed() == [vif.id for vif in mine]
    assert listed(None) == sorted(vif.id for vif in (*mine, *others))
    assert listed(limit=1) == [mine[0].id]
    assert listed(after=mine[0].id) == [mine[1].id]
    assert listed(None, instance_uuid=[other.uuid]) == [others[0].id]


def test_a_network_gives_all_its_addresses_and_is_then_full(allocate):
    given = {allocate(a_request(TINY))[0].ip for _ in range(5)}
    assert given == {f"198.51.100.{last}" for last in range(2, 7)}
    with pytest.raises(exception.NoCapacity, match="tiny"):
        allocate(a_request(TINY))


def test_a_failed_allocation_takes_nothing(allocate, cell_db):
    uuid = a_uuid()
    with pytest.raises(exception.NotFound):
        allocate(a_request(), a_request(network_id=a_uuid()), instance_uuid=uuid)
    with cell_db.read() as session:
        assert ports.info(session, uuid, networks=NETWORKS).vifs == []


def test_what_is_freed_can_be_given_again(allocate, cell_db):
    uuid = a_uuid()
    allocate(a_request(fixed_ip="10.0.7.7"), a_request(), instance_uuid=uuid)
    with cell_db.begin() as session:
        assert ports.free(session, uuid) == 2
        assert ports.free(session, uuid) == 0
    allocate(a_request(fixed_ip="10.0.7.7"))


def test_ports_without_a_living_instance_are_orphans(allocate, cell_db):
    living, buried = an_instance(), an_instance()
    with cell_db.begin() as session:
        for each in (living, buried):
            instances.create(session, each)
        instances.mark_deleted(session, buried.uuid)
    allocate(a_request(), instance_uuid=living.uuid)
    (of_buried,) = allocate(a_request(), instance_uuid=buried.uuid)
    lost = a_uuid()
    (of_lost,) = allocate(a_request(), instance_uuid=lost)
    with cell_db.read() as session:
        found = ports.list_orphans(session)
    assert sorted(found) == sorted([(of_buried.id, buried.uuid), (of_lost.id, lost)])


def test_instances_that_allocate_at_once_never_share_an_address(allocate):
    small = networks.parse(["small=10.5.0.0/26"])
    given, full = [], []

    def take():
        for _ in range(8):
            try:
                given.append(allocate(a_request(), networks=small)[0].ip)
            except exception.NoCapacity:
                full.append(True)

    threads = [threading.Thread(target=take) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(given) == len(set(given)) == 61
    assert len(full) == 3


def test_a_request_sent_twice_at_once_is_served_once(allocate):
    uuid, given = a_uuid(), []
    threads = [
        threading.Thread(
            target=lambda: given.append(allocate(a_request(), a_request(), instance_uuid=uuid))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert given == [given[0]] * 4
