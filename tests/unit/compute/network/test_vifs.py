"""What ports of Neutron need on a host is there as long as their guests, whoever is killed when."""

import pytest

from roost import exception
from roost.compute.network.vifs import Vifs
from roost.objects import NetworkInfo
from tests.builders import a_uuid, a_vif
from tests.fakes.kernel import FakeKernel, Killed


class FakeSwitch:
    """Remembers which ports are on it, and of whom; one that is away refuses all."""

    def __init__(self):
        self.ports = {}
        self.away = False

    def plug(self, binding, *, instance_uuid):
        self._answer()
        self.ports[binding.port_id] = (instance_uuid, binding.switch)

    def unplug(self, binding, *, instance_uuid):
        self._answer()
        self.ports.pop(binding.port_id, None)

    def _answer(self):
        if self.away:
            raise exception.Internal("no switch answers")


class Host:
    def __init__(self, folder):
        self.folder = folder
        self.kernel, self.switch = FakeKernel(), FakeSwitch()
        self.start()

    def start(self):
        self.vifs = Vifs(self.folder, system=self.kernel, switch=self.switch, switch_name="br-int")

    def plug(self, uuid, *vifs):
        return self.vifs.plug(uuid, NetworkInfo.of(vifs=vifs)).vifs

    def everything(self):
        return {*self.kernel.links}, self.switch.ports


@pytest.fixture
def host(tmp_path):
    return Host(tmp_path)


def a_tap(**values):
    return a_vif(type="tap", mtu=1450, **values)


def on_switch(**details):
    return a_vif(type="ovs", details=details)


def test_each_port_has_what_it_is_bound_to(host):
    tap, ovs, bridge = a_tap(), on_switch(), a_vif(type="bridge", details={"bridge_name": '"b"'})
    _, named, _ = host.plug(uuid := a_uuid(), tap, ovs, bridge)
    assert host.kernel.links == {
        f"tap{tap.id}"[:14]: {"addrgenmode": "none", "mtu": "1450", "up": True}
    }
    assert host.switch.ports == {ovs.id: (uuid, "br-int")}
    assert named.details == {"bridge_name": '"br-int"'}
    host.vifs.unplug(uuid)
    assert (host.everything(), host.vifs.plugged()) == (((set(), {})), [])


def test_a_host_that_cannot_plug_is_left_for_another_and_keeps_nothing(host):
    host.switch.away = True
    with pytest.raises(exception.BuildFailed, match="no switch answers") as failed:
        host.plug(uuid := a_uuid(), a_tap(), on_switch())
    assert failed.value.reschedulable
    host.switch.away = False
    host.vifs.unplug(uuid)
    assert (host.everything(), host.vifs.plugged()) == ((set(), {}), [])


def test_what_is_gone_is_made_again_and_one_failure_does_not_end_that(host, caplog):
    host.plug(a_uuid(), on_switch())
    host.plug(a_uuid(), tap := a_tap())
    host.kernel.links.clear()
    host.switch.away = True
    host.vifs.restore()
    assert {*host.kernel.links} == {f"tap{tap.id}"[:14]}
    assert "ports could not be restored: no switch answers" in caplog.text


def test_whoever_is_killed_at_any_command_finds_the_way(tmp_path):
    uuid, kept, leaving, coming = a_uuid(), a_tap(), a_tap(), a_tap()
    for count in range(10):
        host = Host(tmp_path / str(count))
        host.plug(uuid, kept, leaving)
        host.kernel.dies_after = count
        try:
            host.plug(uuid, kept, coming)
        except Killed:
            host.kernel.dies_after = None
            host.start()
            host.vifs.restore()
        else:
            assert count > 5
        wanted = {f"tap{vif.id}"[:14] for vif in (kept, coming)}
        assert {*host.kernel.links} == wanted, f"killed after {count} commands"
