"""Security groups on real bridges: what passes between guests, and that nothing else does."""

import contextlib
import socket
import struct

import pytest

from roost import exception
from roost.compute.network.bridge.metadata import inside
from roost.objects import NetworkInfo
from roost.security_groups import EGRESS, INGRESS
from tests.builders import a_context, a_uuid, an_instance
from tests.external.wire import Wire, udp
from tests.integration.test_bridges import (
    ALL,
    bridge_of,
    heard,
    host_of,
    lets,
    vif_in,
)

pytestmark = pytest.mark.usefixtures("network_programs")
OUT = lets(EGRESS)
SOON = 0.3  # seconds in which nothing comes that is dropped


class Guest(Wire):
    """A guest with its address, which anybody may try to reach."""

    def __init__(self, host, vif):
        super().__init__(vif, bridge_of(vif))
        self.host, self.vif = host, vif

    def __enter__(self):
        super().__enter__()
        self.lease = self.ask_for_an_address()
        self.use(self.lease)
        self.ip = self.lease.ip
        return self

    def let(self, *rules, members=None):
        """Let its groups say this from now on."""
        self.host.conductor.let_pass(self.vif, *rules, members=members)
        self.host.driver.refresh_groups(a_context(), "project")

    def socket(self, kind=socket.SOCK_STREAM, protocol=0):
        with inside(self.namespace):
            return socket.socket(socket.AF_INET, kind, protocol)

    @contextlib.contextmanager
    def listening(self, port):
        with self.socket() as ear:
            ear.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            ear.bind((self.ip, port))
            ear.listen()
            ear.settimeout(5)
            yield ear

    def reaches(self, other, port=80, *, source=0):
        """Tell whether a connection comes about."""
        with other.listening(port), self.socket() as mouth:
            mouth.settimeout(SOON)
            mouth.bind((self.ip, source))
            try:
                mouth.connect((other.ip, port))
            except TimeoutError:
                return False
            return True

    def pings(self, other):
        """Tell whether the other one answers an echo request."""
        with self.socket(socket.SOCK_RAW, socket.IPPROTO_ICMP) as raw:
            raw.settimeout(SOON)
            head = struct.pack("!BBHHH", 8, 0, 0, 7, 1)
            total = sum(struct.unpack("!4H", head))
            head = head[:2] + struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF) + head[4:]
            raw.sendto(head, (other.ip, 0))
            with contextlib.suppress(TimeoutError):
                while True:
                    if raw.recv(256)[20] == 0:
                        return True
        return False


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    with host_of(tmp_path_factory.mktemp("bridges")) as host:
        yield host


@pytest.fixture(scope="module")
def guests(host):
    """Three guests of one network."""
    network = a_uuid()
    with contextlib.ExitStack() as stack:
        vifs = [host.plug(an_instance(), vif_in(network, last))[0] for last in (5, 6, 7)]
        yield [stack.enter_context(Guest(host, vif)) for vif in vifs]


@pytest.fixture
def three(guests):
    for guest in guests:
        guest.let(*ALL)
    return guests


def test_of_a_network_members_get_in_and_others_do_not(three):
    one, other, stranger = three
    group = a_uuid()
    from_members = lets(INGRESS, remote_group_id=group)
    other.let(OUT, from_members, members={group: [one.ip, other.ip]})
    stranger.let(OUT)
    assert one.reaches(other)
    assert not stranger.reaches(other)
    assert not other.reaches(stranger)
    other.let(OUT, from_members, members={group: [other.ip, stranger.ip]})
    assert not one.reaches(other)
    assert stranger.reaches(other)


def test_rules_say_which_ports_and_from_where(three):
    one, other, stranger = three
    web = lets(INGRESS, protocol="tcp", port_min=80, port_max=81, remote_prefix="10.77.0.4/31")
    other.let(OUT, web)
    assert [one.reaches(other, port) for port in (79, 80, 81, 82)] == [False, True, True, False]
    assert not stranger.reaches(other, 80)
    other.let(OUT, lets(INGRESS, protocol="6", remote_prefix="0.0.0.0/0"))
    assert stranger.reaches(other, 82)
    other.let(OUT, lets(INGRESS, protocol="udp"))
    assert not stranger.reaches(other, 82)


@pytest.mark.parametrize(
    ("kind", "code", "passes"), [(None, None, True), (8, None, True), (8, 0, True), (8, 1, False),
                                 (0, None, False)]
)  # fmt: skip
def test_rules_of_icmp_say_which_questions_may_be_asked(three, kind, code, passes):
    one, other, _ = three
    other.let(OUT, lets(INGRESS, protocol="icmp", port_min=kind, port_max=code))
    assert one.pings(other) is passes
    assert not one.reaches(other)


def test_who_may_send_nothing_reaches_nobody_but_is_reached_and_has_its_address(three):
    one, other, _ = three
    one.let(lets(INGRESS), lets(EGRESS, protocol="tcp", port_min=81, port_max=81))
    assert not one.reaches(other, 80)
    assert one.reaches(other, 81)
    assert other.reaches(one, 80)
    one.let()
    assert one.ask_for_an_address().ip == one.ip


def test_a_rule_that_is_taken_away_ends_what_it_let_pass(three):
    one, other, _ = three
    other.let(OUT, lets(INGRESS, protocol="tcp"))
    with other.listening(80) as ear, one.socket() as mouth:
        mouth.connect((other.ip, 80))
        heard, _ = ear.accept()
        with heard:
            heard.settimeout(5)
            mouth.send(b"1")
            assert heard.recv(1) == b"1"
            other.let(OUT)
            mouth.send(b"2")
            heard.settimeout(SOON)
            with pytest.raises(TimeoutError):
                heard.recv(1)
            other.let(OUT, lets(INGRESS, protocol="tcp"))
            heard.settimeout(5)
            assert heard.recv(1) == b"2"  # sent again by who was not heard


def test_what_goes_to_all_is_heard_by_whom_it_may_reach(three):
    one, other, stranger = three
    port = lets(INGRESS, protocol="udp", port_min=1000, port_max=1000)
    other.let(OUT, lets(INGRESS, protocol="udp", port_min=1001, port_max=1001))
    stranger.let(OUT, port)
    frame = udp(one.mac, one.ip, "10.77.0.255", ports=(1000, 1000), payload=b"not the last one")
    assert heard(one, stranger, frame) == [frame]
    with other.frames() as ear, one.frames() as mouth:
        ear.settimeout(SOON)
        mouth.send(frame)
        mouth.send(last := udp(one.mac, one.ip, "10.77.0.255", ports=(1000, 1001)))
        while (seen := ear.recv(2048)) != last:
            assert seen != frame


def test_a_guest_that_the_cell_tells_nothing_of_is_not_plugged_or_reaches_nobody(host, three):
    one, _, _ = three
    instance, info = an_instance(), NetworkInfo.of(vifs=[vif_in(one.vif.network_id, 9)])
    host.conductor.fail("describe_filtering", exception.Unavailable("away"))
    with pytest.raises(exception.Unavailable):
        host.driver.plug(instance, info)
    assert instance.uuid not in host.driver.plugged()
    with Guest(host, host.driver.plug(instance, info).vifs[0]) as unknown:
        assert not unknown.reaches(one)
        unknown.let(*ALL)
        assert unknown.reaches(one)
    host.driver.unplug(instance.uuid)
