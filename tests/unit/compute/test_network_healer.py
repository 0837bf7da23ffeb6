"""Changes of ports that no event told of, and what looking for them costs."""

import pytest

from roost import exception
from roost.compute import external_events
from roost.compute.external_events import NetworkHealer
from roost.compute.locks import Locks
from roost.objects import NetworkInfo
from tests.builders import a_uuid, a_vif, an_instance


class Guests:
    """The networks and the hypervisor of a host, as far as they matter here."""

    def __init__(self):
        self.infos = {}
        self.described, self.refreshed = [], []
        self.trouble, self.refusal = [], []
        self.networks = self.virt = self

    def list_guests(self):
        return list(self.infos)

    def hear(self, event):
        raise AssertionError("nobody told")

    def describe(self, uuids):
        self.described.append(list(uuids))
        if self.trouble:
            raise self.trouble.pop()
        return {uuid: self.infos[uuid] for uuid in uuids}

    def refresh(self, _context, uuid):
        self.refreshed.append(uuid)
        if self.refusal:
            raise self.refusal.pop()


@pytest.fixture
def guests():
    return Guests()


@pytest.fixture
def locks():
    return Locks()


@pytest.fixture
def building():
    return set()


@pytest.fixture
def healer(guests, locks, building):
    return NetworkHealer(guests, locks=locks, is_building=building.__contains__)


def some_info(**values):
    return NetworkInfo.of(vifs=[a_vif(**values)])


@pytest.fixture
def server(guests, healer):
    """A guest whose row is as its ports are."""
    made = an_instance(uuid=a_uuid(), network_info=some_info())
    guests.infos[made.uuid] = made.network_info
    healer.fill([made])
    return made.uuid


def test_a_change_is_told_once(guests, healer, server):
    healer.run()
    assert guests.refreshed == []
    guests.infos[server] = some_info(active=False)
    for _ in range(3):
        healer.run()
    assert guests.refreshed == [server]


def test_who_is_worked_on_is_left_for_the_next_time(guests, healer, locks, building, server):
    guests.infos[server] = some_info()
    with locks.hold(server):
        healer.run()
    building.add(server)
    healer.run()
    assert guests.refreshed == []
    building.clear()
    healer.run()
    assert guests.refreshed == [server]


def test_one_look_is_about_so_many_guests_and_all_have_their_turn(guests, healer, monkeypatch):
    monkeypatch.setattr(external_events, "AT_ONCE", 2)
    guests.infos = {a_uuid(): some_info() for _ in range(5)}
    for _ in range(3):
        healer.run()
    assert [len(batch) for batch in guests.described] == [2, 2, 2]
    assert {uuid for batch in guests.described for uuid in batch} == {*guests.infos}


def test_nobody_is_passed_over_while_neutron_is_away(guests, healer, monkeypatch, server):
    monkeypatch.setattr(external_events, "AT_ONCE", 1)
    guests.infos[a_uuid()] = some_info()
    guests.trouble = [exception.Unavailable("away")]
    with pytest.raises(exception.Unavailable):
        healer.run()
    healer.run()
    assert guests.described[0] == guests.described[1]


def test_a_row_that_cannot_follow_is_tried_again(guests, healer, server, caplog):
    guests.infos[server] = some_info()
    guests.refusal = [exception.Invalid("not like this")]
    for _ in range(3):
        healer.run()
    assert guests.refreshed == [server, server]
    assert "not like this" in caplog.text
