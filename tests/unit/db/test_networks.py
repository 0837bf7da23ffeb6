"""Networks, subnets and ports that users make for the local driver: steps may be repeated."""

import dataclasses

import pytest

from roost import exception
from roost.db.api import networks, ports
from tests.builders import NOW, a_uuid

NETWORK = networks.Network(
    id=a_uuid(),
    project_id="project",
    name="",
    description="",
    shared=False,
    cidr=None,
    subnet_name=None,
    created_at=NOW,
)
PORT = ports.MadePort(
    id=a_uuid(),
    project_id="project",
    network_id=NETWORK.id,
    name="",
    description="",
    ip="10.0.0.9",
    mac="52:54:00:00:00:01",
    instance_uuid=None,
    created_at=NOW,
)


def test_what_is_made_once_more_is_there_once(api_db):
    for _ in range(2):
        with api_db.begin() as session:
            networks.create(session, NETWORK)
            networks.give_subnet(session, NETWORK, cidr="10.0.0.0/24", name="")
            assert ports.create(session, PORT)
    with api_db.read() as session:
        (network,) = networks.list_seen(session, "project")
        assert (network.id, network.cidr) == (NETWORK.id, "10.0.0.0/24")
        assert ports.addresses(session, network.id) == {PORT.ip}


def test_another_subnet_or_another_port_of_one_address_is_not_made(api_db):
    with api_db.begin() as session:
        networks.create(session, NETWORK)
        networks.give_subnet(session, NETWORK, cidr="10.0.0.0/24", name="")
        assert ports.create(session, PORT)
    with api_db.begin() as session:
        with pytest.raises(exception.Conflict):
            networks.give_subnet(session, NETWORK, cidr="10.1.0.0/24", name="")
        other = {"id": a_uuid(), "mac": "52:54:00:00:00:02"}
        assert not ports.create(session, dataclasses.replace(PORT, **other))
