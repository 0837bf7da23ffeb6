"""The ports of all servers: told in pages, in time, and let go only as they were looked at."""

import itertools

import pytest

from roost import exception
from roost.external import neutron_ports
from roost.external.neutron_ports import LeftoverPorts, ServerPort
from tests.builders import a_uuid
from tests.fakes.neutron import FakeNetwork

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
TWO = "aaaaaaaa-0000-4000-8000-000000000002"


@pytest.fixture
def neutron():
    return FakeNetwork()


@pytest.fixture
def ports(neutron):
    return LeftoverPorts(neutron)


def a_port(neutron, instance=ONE, *, made=True, owner="compute:nova"):
    """Make a port; ``made`` None: it bears no mark."""
    mark = {} if made is None else {"roost": {"position": 0, "made": made}}
    return neutron.create_port(
        network_id=neutron.a_network(a_uuid()).id,
        device_id=instance,
        device_owner=owner,
        binding_host_id="h1",
        binding_profile={**mark, "theirs": 1},
    ).id


def test_only_ports_of_servers_are_told_with_whose_they_are(neutron, ports):
    made, taken, unmarked = (a_port(neutron, made=made) for made in (True, False, None))
    a_port(neutron, owner="network:dhcp")
    a_port(neutron, instance="")
    (page,) = ports.pages()
    told = [ServerPort(made, ONE, True), ServerPort(taken, ONE, False)]
    assert page == [*told, ServerPort(unmarked, ONE, None)]


def test_ports_come_a_page_at_a_time(neutron, ports, monkeypatch):
    monkeypatch.setattr(neutron_ports, "_PAGE", 2)
    for _ in range(5):
        a_port(neutron)
    neutron.calls.clear()
    pages = ports.pages()
    assert (len(next(pages)), neutron.calls) == (2, ["port"])
    assert [len(page) for page in pages] == [2, 1]
    assert neutron.calls == ["port"] * 3


def test_who_takes_too_long_to_tell_all_is_not_waited_for(neutron):
    for _ in range(3):
        a_port(neutron)
    ports = LeftoverPorts(neutron, seconds=2, clock=itertools.count().__next__)
    with pytest.raises(exception.Timeout, match="in 2 s"):
        list(ports.pages())


def test_what_was_made_is_deleted(neutron, ports):
    port = a_port(neutron)
    assert ports.let_go(port, instance_uuid=ONE)
    assert neutron.all["port"] == []
    assert not ports.let_go(port, instance_uuid=ONE)


def test_what_was_taken_is_unbound_and_stays(neutron, ports):
    port = a_port(neutron, made=False)
    assert ports.let_go(port, instance_uuid=ONE)
    left = neutron.get_port(port)
    assert (left.device_id, left.device_owner, left.binding_host_id) == ("", "", "")
    assert left.binding_profile == {"theirs": 1}
    assert not ports.let_go(port, instance_uuid=ONE)


@pytest.mark.parametrize(
    "given", [{"made": None}, {"instance": TWO}, {"owner": "network:dhcp"}], ids=str
)
def test_what_is_not_that_servers_or_not_marked_is_not_touched(neutron, ports, given):
    port = a_port(neutron, **given)
    before = neutron.get_port(port)
    assert not ports.let_go(port, instance_uuid=ONE)
    assert neutron.get_port(port) == before


@pytest.mark.parametrize("made", [True, False])
def test_what_changed_since_it_was_looked_at_is_not_touched(neutron, ports, made):
    port = a_port(neutron, made=made)
    looked = neutron.get_port

    def change_behind_the_back(port_id):
        found = looked(port_id)
        neutron.update_port(port_id, device_id=TWO)
        return found

    neutron.get_port = change_behind_the_back
    assert not ports.let_go(port, instance_uuid=ONE)
    assert looked(port).device_id == TWO
