"""Where hosts filter by security groups, they hear of whatever users change, from a conductor."""

import pytest

from roost.api.dependencies import ApiOptions
from roost.cells.security_groups import GroupCopies
from roost.conductor.super.manager import SuperConductorManager
from roost.db.cell import ports, security_groups
from roost.objects import NetworkRequest
from roost.standalone.networking import LocalNetworking
from tests import api_harness
from tests.api_harness import ALICE, PRIVATE
from tests.builders import CELL1, a_context, a_uuid

GROUPS, RULES = "/network/v2.0/security-groups", "/network/v2.0/security-group-rules"
REQUEST = NetworkRequest.of(network_id=None, fixed_ip=None, port_id=None, tag=None)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    folder, driver = tmp_path_factory.mktemp("world"), LocalNetworking([PRIVATE], filters=True)
    options = ApiOptions(quota=api_harness.UNLIMITED)
    with api_harness.made_in(folder, options, network_driver=driver) as world:
        yield world


@pytest.fixture(scope="module")
def server(world):
    """A server of Alice's project, with an address, on the host h1."""
    placed = world.place(CELL1, uuid=a_uuid(), project_id="project", host="h1").uuid
    with world.databases[CELL1].begin() as session:
        ports.allocate(
            session, instance_uuid=placed, host="h1", requests=[REQUEST], networks=[PRIVATE]
        )
    return placed


@pytest.fixture
def heard(world, server):
    """Return whether h1 has been told since this was asked last, and nobody else was.

    Requests tell a super-conductor alone, and it tells hosts.
    """
    conductor = SuperConductorManager(None, GroupCopies(world.api_db, world.parts.cells))

    def heard():
        assert [bus.sent for bus in world.buses.values()] == [[], []]
        for _, method, arguments in world.api_bus.sent:
            getattr(conductor, method)(a_context(), **arguments)
        world.api_bus.sent.clear()
        sent = [
            (host, arguments)
            for bus in world.buses.values()
            for host, method, arguments in bus.sent
            if method == "refresh_security_groups"
        ]
        for bus in world.buses.values():
            bus.sent.clear()
        assert all(one == ("h1", {"project_id": "project"}) for one in sent)
        return bool(sent)

    heard()
    return heard


def known(world):
    """Return how many rules of each group the cell of h1 knows."""
    with world.databases[CELL1].read() as session:
        (groups,) = security_groups.copies(session, ["project"]).values()
    return {group.name: len(group.rules) for group in groups}


def test_whatever_users_change_is_known_to_the_cell_and_told_to_the_host(world, client, heard):
    body = {"security_group": {"name": "web"}}
    group = client.post(GROUPS, body, token=ALICE).json["security_group"]["id"]
    assert (heard(), known(world)["web"]) == (True, 2)
    rule = {"security_group_id": group, "direction": "ingress", "protocol": "tcp"}
    added = client.post(RULES, {"security_group_rule": rule}, token=ALICE)
    assert (heard(), known(world)["web"]) == (True, 3)
    rule_id = added.json["security_group_rule"]["id"]
    assert client.delete(f"{RULES}/{rule_id}", token=ALICE).status_code == 204
    assert (heard(), known(world)["web"]) == (True, 2)
    client.put(f"{GROUPS}/{group}", {"security_group": {"name": "www"}}, token=ALICE)
    assert (heard(), known(world)["www"]) == (True, 2)
    assert client.delete(f"{GROUPS}/{group}", token=ALICE).status_code == 204
    assert (heard(), "www" in known(world)) == (True, False)


def test_a_host_is_told_once_the_cell_says_who_is_in_a_group(world, client, server, heard):
    body = {"security_group": {"name": a_uuid()}}
    name = client.post(GROUPS, body, token=ALICE).json["security_group"]["name"]
    heard()
    for action in ("addSecurityGroup", "removeSecurityGroup"):
        answer = client.post(
            f"/v2.1/servers/{server}/action", {action: {"name": name}}, token=ALICE
        )
        assert (answer.status_code, heard()) == (202, True)


def test_reading_tells_nobody(client, heard):
    client.get(GROUPS, token=ALICE)
    assert not heard()


def test_a_change_is_made_though_no_super_conductor_can_be_told(world, client, heard):
    world.api_bus.away = True
    try:
        answer = client.post(GROUPS, {"security_group": {"name": "alone"}}, token=ALICE)
    finally:
        world.api_bus.away = False
    assert (answer.status_code, heard()) == (201, False)
