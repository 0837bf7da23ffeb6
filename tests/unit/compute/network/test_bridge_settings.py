"""What operators say of bridges, and what becomes of it in DHCP; what a host must have for them."""

import os
import pathlib

import pytest

from roost import conf as options
from roost import exception, networks
from roost.compute.network.bridge.dhcp import configuration
from roost.compute.network.bridge.ports import BridgePort
from roost.compute.network.bridge.segment import Segment
from roost.compute.network.bridge.settings import BridgeSettings, MetadataService, uplinks
from roost.compute.network.bridge.system import System
from roost.security_groups import Filtering
from tests.builders import CELL1, a_vif, an_instance

KNOWN = networks.parse(["private=10.0.0.0/16", "storage=10.8.0.0/16"])
PRIVATE, STORAGE = (network.id for network in KNOWN)


def test_uplinks_are_by_the_ids_of_networks():
    assert uplinks(["private=eth1", "storage=eth1.120"], KNOWN) == {
        PRIVATE: "eth1",
        STORAGE: "eth1.120",
    }


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        (["private"], "it must read network=link"),
        (["private=a link of some length"], "it must read network=link"),
        (["private=../eth1"], "it must read network=link"),
        (["privat=eth1"], "has no network 'privat'"),
        (["private=eth1", "private=eth2"], "private has an uplink already"),
        (["private=eth1", "storage=eth1"], "eth1 is the uplink of another network"),
    ],
)
def test_an_uplink_that_cannot_be_meant_is_named(entries, why):
    with pytest.raises(exception.Invalid, match="\\[bridge\\] uplinks has a bad entry") as bad:
        uplinks(entries, KNOWN)
    assert why in bad.value.message
    assert repr(entries[-1]) in bad.value.message


@pytest.fixture
def conf(tmp_path):
    conf = options.load()
    conf.set_override("state_path", str(tmp_path))
    conf.set_override("host", "h1")
    return conf


def test_options_become_settings(conf, tmp_path):
    conf.set_override("uplinks", ["private=eth1"], "bridge")
    conf.set_override("metadata_url", "http://127.0.0.1:8775/", "bridge")
    conf.set_override("shared_secret", "secret", "metadata")
    settings = BridgeSettings.from_conf(conf)
    assert settings.folder == tmp_path / "h1/bridge"
    assert settings.uplinks == {PRIVATE: "eth1"}
    assert settings.metadata == MetadataService("http://127.0.0.1:8775", "secret")
    assert settings.domain == "novalocal"


def test_metadata_wants_a_secret_to_sign_with(conf):
    conf.set_override("metadata_url", "http://127.0.0.1:8775", "bridge")
    with pytest.raises(exception.Invalid, match="shared_secret"):
        BridgeSettings.from_conf(conf)


def lines(vif=None, *, hostname="server", **settings):
    ports = [BridgePort.of(an_instance(hostname=hostname), vif or a_vif())]
    segment = Segment.of(
        CELL1, ports, BridgeSettings(pathlib.Path("/x"), **settings), filtering=Filtering()
    )
    return configuration(segment, pathlib.Path("/x/pid")).splitlines()


def test_a_subnets_own_dns_comes_before_the_operators():
    assert "dhcp-option=option:dns-server,10.0.0.9" in lines(dns=("192.0.2.53",))
    assert "dhcp-option=option:dns-server,192.0.2.53" in lines(
        a_vif(addresses=[]), dns=("192.0.2.53",)
    )


def test_routes_of_a_subnet_come_with_its_router():
    vif = a_vif()
    vif.addresses[0].routes = [{"destination": "10.9.0.0/16", "nexthop": "10.0.0.7"}]
    found = "dhcp-option=option:classless-static-route,10.9.0.0/16,10.0.0.7,0.0.0.0/0,10.0.0.1"
    assert found in lines(vif)


@pytest.mark.parametrize("hostname", ["a\ndhcp-script=/bin/sh", "a,b", "", "-a", "a" * 64])
def test_a_name_that_no_host_can_have_is_not_told(hostname):
    assert lines(hostname=hostname)[-1] == "dhcp-host=02:00:00:00:00:01,10.0.0.2"


def test_a_command_that_fails_says_what_it_said():
    with pytest.raises(exception.Internal, match=r"ls /no/such/place: .*No such file"):
        System().run("ls", "/no/such/place")


def test_a_program_that_is_missing_is_named_with_its_package(monkeypatch):
    monkeypatch.setattr("roost.compute.network.bridge.system._PATH", "/nowhere")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(exception.Internal, match="apt-get install dnsmasq-base"):
        System().run("dnsmasq")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(exception.Invalid, match="install iproute2 nftables dnsmasq-base"):
        System().check()


def test_a_kernel_that_cannot_filter_bridges_is_told_of_and_how_to_cure_it(monkeypatch, tmp_path):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    system = "roost.compute.network.bridge.system"
    monkeypatch.setattr(f"{system}._find", lambda name: name)
    monkeypatch.setattr(f"{system}._FILTERS_BRIDGES", tmp_path / "none")
    with pytest.raises(exception.Invalid, match="modprobe br_netfilter"):
        System().check()


def test_who_is_not_root_is_told_so(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(exception.Invalid, match="run roost-compute as root"):
        System().check()
