"""How hosts with real guests are linked, and what they are told of this machine."""

import psutil
import pytest

from roost import exception
from roost.rig.hypervisors import gate
from roost.rig.hypervisors.hosts import check_wish, doors, machines
from roost.rig.hypervisors.network import RigLinks, free_subnet
from roost.rig.lifecycle import find, programs
from roost.rig.plan import new_plan

BUS = "rabbit://guest:guest@127.0.0.1:5672"
NETWORK = RigLinks("0a1b2c3d", "198.18.7")


@pytest.fixture
def plan(tmp_path):
    return made(tmp_path)


def made(state, **values):
    own = {"cells": 2, "hosts": 2, "bus": BUS, "database": "postgresql+psycopg://me@127.0.0.1:5432"}
    own |= {"metadata": True, "consoles": True, "cache": state / "cache"}
    return new_plan(state, driver="libvirt", **own | values)


def test_a_subnet_is_one_that_nobody_here_is_in(monkeypatch):
    class Address:
        def __init__(self, address):
            self.address = address

    taken = [Address(f"198.{18 + n // 256}.{n % 256}.1") for n in range(512) if n != 300]
    monkeypatch.setattr(psutil, "net_if_addrs", lambda: {"x": taken})
    assert free_subnet() == "198.19.44"


def test_what_is_on_loopback_is_behind_the_gateway():
    options = {
        "DEFAULT": {"transport_url": f"{BUS}/vhost", "host": "127.0.0.1", "rpc_threads": 8},
        "servicegroup": {"url": "redis://localhost:6379?x=10.127.0.0.1:1"},
        "scheduler": {"transport_url": "rabbit://me@broker.example:5671/x"},
    }
    led = NETWORK.led(options, broker="broker.example")
    assert led == {
        "DEFAULT": {
            "transport_url": "rabbit://guest:guest@198.18.7.1:5672/vhost",
            "host": "127.0.0.1",
            "rpc_threads": 8,
        },
        "servicegroup": {"url": "redis://198.18.7.1:6379?x=10.127.0.0.1:1"},
        "scheduler": {"transport_url": "rabbit://me@198.18.7.1:5671/x"},
    }
    assert NETWORK.doors([led]) == {5672, 6379, 5671}


def test_hosts_have_addresses_and_links_of_their_own(plan):
    found = machines(plan)
    assert [one.name for one in found] == [
        "cell1-host1", "cell1-host2", "cell2-host1", "cell2-host2",
    ]  # fmt: skip
    assert len({one.address for one in found}) == 4
    assert len({link.outer for one in found for link in one.links}) == 8


def test_a_compute_reaches_all_by_the_gateway(plan):
    options = plan.find("cell2-host1").options
    gateway = plan.network.gateway
    assert f"@{gateway}:5672/" in options["DEFAULT"]["transport_url"]
    assert f"@{gateway}:5672/" in options["scheduler"]["transport_url"]
    assert options["bridge"]["metadata_url"] == f"http://{gateway}:{plan.metadata_port}"
    assert options["metadata"]["shared_secret"] == plan.metadata_secret
    assert "127.0.0.1" not in str(options)


def test_the_gate_leads_to_the_broker_and_to_metadata(plan):
    port = plan.metadata_port
    assert doors(plan) == {5672: ("127.0.0.1", 5672), port: ("127.0.0.1", port)}
    command = find(plan, "gate").command
    assert gate.read(list(command[-3:])) == (plan.network.gateway, doors(plan))


def test_what_daemons_stand_on_is_started_before_them(plan):
    names = [program.name for program in programs(plan)]
    for later in ("cell1-host1", "cell1-host1-libvirtd"):
        assert names.index("cell1-host1-virtlogd") < names.index(later)
    assert names[0] == "gate"
    with pytest.raises(exception.NotFound, match="it has gate, cell1-host1-virtlogd"):
        find(plan, "nobody")


WISH = {"hosts": 1, "embedded": False, "mode": "threading", "inventory": False}


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ({"embedded": True}, "leave out --embedded"),
        ({"mode": "eventlet"}, "wants --concurrency threading"),
        ({"inventory": True}, "leave out --inventory"),
        ({"hosts": 201}, "addresses for 200 hosts, not for 201"),
    ],
)
def test_what_cannot_be_is_said_first(wish, why):
    with pytest.raises(exception.Invalid, match=why):
        check_wish(**WISH | wish)
