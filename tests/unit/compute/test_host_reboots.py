"""What becomes of guests that ended with their node, which was started again."""

import dataclasses

import pytest

from roost import exception, states
from tests.builders import NOW
from tests.unit.compute.test_plugs_vifs import PluggingNetworks


class Site:
    """A host with a server, whose node is started again."""

    def __init__(self, rig, boot):
        self.rig, self.virt, self.conductor = rig, rig.virt, rig.conductor
        self.server = rig.instance()
        boot(rig.manager(), self.server)
        self.server.launched_at = NOW

    def starts_again(self, *, resumes=True):
        """Start the node and its daemon, which has ended with it."""
        guest = self.virt.contents(self.server.uuid)
        if guest["power_state"] in (states.RUNNING, states.HELD, states.SHUTDOWN):
            down = {"power_state": states.SHUTDOWN, "cut_off": True}
            self.virt._write(self.server.uuid, guest | down)
        self.rig.manager(resumes=resumes).start()

    @property
    def power(self):
        return self.virt.describe(self.server.uuid).power_state


@pytest.fixture
def site(rig, boot):
    return Site(rig, boot)


def test_a_guest_that_ran_runs_again_and_somebody_is_told(site, caplog):
    site.starts_again()
    assert (site.power, site.server.vm_state) == (states.RUNNING, states.ACTIVE)
    assert site.conductor.findings == [("started_again", site.server.uuid)]
    assert "its guest had ended with its host, which was started again" in caplog.text


def test_a_guest_that_waits_for_the_end_of_its_move_runs_again(site):
    site.server.vm_state = states.RESIZED
    site.starts_again()
    assert (site.power, site.server.vm_state) == (states.RUNNING, states.RESIZED)


def test_unless_it_is_asked_for_the_server_follows_its_guest(site):
    site.starts_again(resumes=False)
    assert (site.power, site.server.vm_state) == (states.SHUTDOWN, states.STOPPED)
    assert site.conductor.findings == [("power_followed", site.server.uuid)]
    why = site.conductor.faults[site.server.uuid]
    assert why == "Its guest had ended with its host, which was started again."


def test_a_guest_that_ended_by_itself_is_not_started(site):
    site.virt.power_off(site.server.uuid)
    site.rig.manager(resumes=True).start()
    assert (site.power, site.server.vm_state) == (states.SHUTDOWN, states.STOPPED)


def test_a_guest_that_was_stopped_stays_so(site):
    site.virt.power_off(site.server.uuid)
    site.server.vm_state, site.server.power_state = states.STOPPED, states.SHUTDOWN
    site.starts_again()
    assert (site.power, site.server.vm_state) == (states.SHUTDOWN, states.STOPPED)
    assert site.conductor.findings == []


def test_a_guest_that_was_paused_has_nothing_to_go_on_with(site):
    site.virt.pause(site.server.uuid)
    site.server.vm_state, site.server.power_state = states.PAUSED, states.HELD
    site.starts_again()
    assert (site.power, site.server.vm_state) == (states.SHUTDOWN, states.STOPPED)


def test_a_rescued_guest_is_rescued_again_if_it_ran(site):
    site.virt.rescue(None, site.server, image=None, image_path="rescue.img", password=None)
    site.server.vm_state = states.RESCUED
    site.starts_again()
    assert (site.power, site.server.vm_state) == (states.RUNNING, states.RESCUED)
    site.server.power_state = states.SHUTDOWN
    site.starts_again()
    assert (site.power, site.server.vm_state) == (states.SHUTDOWN, states.RESCUED)


def test_a_guest_that_cannot_be_started_says_why(site):
    site.rig.trouble({"step": "power", "kind": "crash", "message": "no memory"})
    site.starts_again()
    assert site.server.vm_state == states.STOPPED
    uuid = site.server.uuid
    assert "it could not be started: Something failed" in site.conductor.faults[uuid]
    assert site.conductor.events[uuid][-1].details == "Crash: power: no memory"


def test_while_the_hypervisor_is_away_nothing_is_decided(site, monkeypatch):
    def away(uuid):
        raise exception.Unavailable("libvirt cannot be reached")

    monkeypatch.setattr(site.virt, "power_on", away)
    with pytest.raises(exception.Unavailable):
        site.starts_again()
    assert (site.server.vm_state, site.conductor.findings) == (states.ACTIVE, [])


def test_networks_are_there_before_guests_are_started(site, monkeypatch):
    networks = PluggingNetworks(site.conductor, host="h1")
    site.rig.host = dataclasses.replace(site.rig.host, networks=networks)
    seen, start = [], site.virt.power_on

    def power_on(uuid):
        seen.append(networks.restored)
        start(uuid)

    monkeypatch.setattr(site.virt, "power_on", power_on)
    site.starts_again()
    assert seen == [1]
