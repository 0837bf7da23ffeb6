"""Real bridges, namespaces, dnsmasq and nftables; guests are namespaces on links like taps."""

import contextlib
import http.server
import json
import pathlib
import socket
import subprocess
import threading

import pytest

from roost import exception
from roost.compute.network.bridge.driver import BridgeDriver
from roost.compute.network.bridge.metadata import Metadata
from roost.compute.network.bridge.segment import METADATA, SegmentNames
from roost.compute.network.bridge.settings import BridgeSettings, MetadataService
from roost.compute.network.bridge.system import System
from roost.metadata.identity import BySignature
from roost.networks import random_mac
from roost.objects import NetworkInfo
from roost.security_groups import EGRESS, INGRESS, SecurityGroupRule
from tests.builders import a_uuid, a_vif, an_instance
from tests.external.links import left_of, links
from tests.external.wire import BROADCAST, Wire, arp, ethernet, ip, udp, wait_until_it_forwards
from tests.fakes.cell_conductor import FakeCellConductor

pytestmark = pytest.mark.usefixtures("network_programs")
CIDR = "10.77.0.0/24"
SECRET = "what agents share"


def lets(direction, **values):
    """Return a rule of IPv4."""
    return SecurityGroupRule(
        id=a_uuid(), group_id=a_uuid(), direction=direction, ethertype="IPv4", **values
    )


ALL = (lets(INGRESS), lets(EGRESS))


class Host:
    """A driver on this machine, which may end and be started again."""

    def __init__(self, folder, **settings):
        self.conductor = FakeCellConductor()
        self.settings = BridgeSettings(folder, **settings)
        self.start()

    def start(self):
        system = System()
        self.metadata = Metadata(system, self.settings.metadata)
        self.driver = BridgeDriver(
            self.conductor, host="h1", settings=self.settings, system=system, metadata=self.metadata
        )

    def plug(self, instance, *vifs, rules=ALL):
        """Plug a guest; its network can be used then."""
        for vif in vifs:
            self.conductor.let_pass(vif, *rules)
        bound = self.driver.plug(instance, NetworkInfo.of(vifs=vifs)).vifs
        for vif in bound:
            wait_until_it_forwards(SegmentNames(vif.network_id).outer)
        return bound

    def stop(self, *network_ids):
        """End it as the process would; what it has made stays."""
        for network_id in network_ids:
            self.metadata.remove(SegmentNames(network_id))

    def clean(self):
        for uuid in self.driver.plugged():
            self.driver.unplug(uuid)


@contextlib.contextmanager
def host_of(folder, **settings):
    host = Host(folder, **settings)
    try:
        yield host
    finally:
        host.clean()


@pytest.fixture
def host(tmp_path):
    with host_of(tmp_path, dns=("192.0.2.53",)) as host:
        yield host


@pytest.fixture
def network():
    return a_uuid()


def vif_in(network, last, **values):
    fixed = {"cidr": CIDR, "gateway": "10.77.0.1", "addresses": [], "mac": random_mac()}
    return a_vif(network_id=network, ip=f"10.77.0.{last}", **fixed | values)


def bridge_of(vif):
    return json.loads(vif.details["bridge_name"])


@pytest.fixture
def guests(host, network):
    """Plug guests, with these last bytes of their addresses, into one network."""
    with contextlib.ExitStack() as stack:

        def plug(*lasts):
            plugged = [host.plug(an_instance(), vif_in(network, last))[0] for last in lasts]
            return [stack.enter_context(Wire(vif, bridge_of(vif))) for vif in plugged]

        yield plug


def test_a_guest_is_told_by_dhcp_what_the_api_says(guests):
    (guest,) = guests(5)
    lease = guest.ask_for_an_address()
    assert lease.address == "10.77.0.5/24"
    assert lease.options[12] == b"server"
    assert lease.options[26] == (1500).to_bytes(2, "big")
    assert lease.options[6] == bytes([192, 0, 2, 53])
    assert lease.options[3] == bytes([10, 77, 0, 1])


def test_who_is_no_guest_of_ours_gets_no_address(host, network):
    (vif,) = host.plug(an_instance(), vif_in(network, 5))
    with Wire(vif_in(network, 6), bridge_of(vif)) as stranger:
        assert stranger.ask_for_an_address(seconds=0.5) is None


def heard(sender, receiver, *frames):
    """Send frames, then one that arrives for sure; return which of the former arrived before it."""
    last = udp(sender.mac, sender.ip, "10.77.0.255", payload=b"the last one")
    with receiver.frames() as ear, sender.frames() as mouth:
        for frame in [*frames, last]:
            mouth.send(frame)
        seen = []
        while (frame := ear.recv(2048)) != last:
            seen.append(frame)
    return [frame for frame in frames if frame in seen]


@pytest.fixture
def two(guests):
    """Two guests of one network with their addresses."""
    both = guests(5, 6)
    for guest, last in zip(both, (5, 6), strict=True):
        guest.ip = f"10.77.0.{last}"
    return both


def test_guests_of_one_network_hear_each_other(two):
    one, other = two
    frames = [
        arp(one.mac, one.ip, other.ip),
        arp(one.mac, "0.0.0.0", one.ip),  # asks whether its address is free
        udp(one.mac, one.ip, other.ip, to=other.mac),
    ]
    assert heard(one, other, *frames) == frames


def test_nobody_hears_what_a_guest_sends_as_another(two):
    one, other = two
    stranger = "02:11:11:11:11:11"
    frames = [
        udp(stranger, one.ip, other.ip),
        udp(one.mac, "10.77.0.7", other.ip),
        udp(one.mac, "0.0.0.0", other.ip),
        arp(one.mac, "10.77.0.1", other.ip),
        arp(stranger, one.ip, other.ip, source=one.mac),
        arp(one.mac, one.ip, other.ip, source=stranger),
        udp(one.mac, METADATA, other.ip),
    ]
    assert heard(one, other, *frames) == []


def test_nobody_hears_a_guest_answer_for_our_dhcp(two):
    one, other = two
    offer = udp(one.mac, one.ip, "255.255.255.255", ports=(67, 68))
    assert heard(one, other, offer) == []


def test_guests_send_nothing_but_ipv4_and_arp(two):
    one, other = two
    frames = [
        ethernet(one.mac, BROADCAST, 0x86DD, bytes(46)),
        ethernet(one.mac, BROADCAST, 0x8100, b"\0\x05\x08\0" + bytes(42)),
    ]
    assert heard(one, other, *frames) == []


def test_the_host_itself_hears_nothing_of_its_guests(two, network):
    one, other = two
    ear = socket_on(SegmentNames(network).bridge)
    with ear:
        frame = udp(one.mac, one.ip, "255.255.255.255")
        assert heard(one, other, frame) == [frame]
        assert arrived(ear, one.mac) == []


def socket_on(link):
    raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    raw.bind((link, 3))
    raw.setblocking(False)
    return raw


def arrived(ear, mac):
    found = []
    with contextlib.suppress(BlockingIOError):
        while True:
            frame, (_, _, kind, *_) = ear.recvfrom(2048)
            if kind != 4 and frame[6:12] == bytes.fromhex(mac.replace(":", "")):
                found.append(frame)
    return found


def test_what_crosses_a_bridge_is_filtered_whatever_the_host_says_of_others(guests, network):
    guests(5)
    asks = pathlib.Path("/sys/class/net", SegmentNames(network).bridge, "bridge/nf_call_iptables")
    assert asks.read_text().strip() == "1"


def test_nothing_is_left_after_the_last_guest(host, network, tmp_path):
    instance = an_instance()
    host.plug(instance, vif_in(network, 5))
    assert len(left_of(network, tmp_path)) == 9
    host.driver.unplug(instance.uuid)
    assert left_of(network, tmp_path) == []


def test_another_driver_goes_on_where_one_was_killed(host, network, tmp_path):
    instance, vif = an_instance(), vif_in(network, 5)
    (bound,) = host.plug(instance, vif)
    dnsmasq = (tmp_path / f"dhcp/{network}.pid").read_text()
    host.start()
    host.driver.restore()
    assert (tmp_path / f"dhcp/{network}.pid").read_text() == dnsmasq
    with Wire(bound, bridge_of(bound)) as guest:
        assert guest.ask_for_an_address().ip == "10.77.0.5"


def test_what_somebody_removed_is_made_again(host, network, tmp_path):
    (vif,) = host.plug(an_instance(), vif_in(network, 5))
    names = SegmentNames(network)
    System().end(tmp_path / f"dhcp/{network}.pid", argument=f"{network}.conf")
    ip("netns", "delete", names.namespace)
    subprocess.run(["/usr/sbin/nft", "delete", "table", "bridge", names.table], check=True)
    host.driver.restore()
    assert len(left_of(network, tmp_path)) == 9
    with Wire(vif, bridge_of(vif)) as guest:
        assert guest.ask_for_an_address().ip == "10.77.0.5"


@pytest.fixture
def beyond():
    """A link of this host, and a namespace at its other end."""
    end, place = f"up{a_uuid()[:8]}", f"beyond-{a_uuid()[:8]}"
    ip("netns", "add", place)
    try:
        ip("link", "add", "name", end, "type", "veth", "peer", "name", "eth0", "netns", place)
        ip("-n", place, "link", "set", "dev", "eth0", "up")
        yield end, place
    finally:
        ip("netns", "delete", place)


class Beyond(Wire):
    """Who is at the other end of an uplink."""

    def __init__(self, place):
        self.namespace = place
        self.ip, self.mac = "10.77.0.9", "02:99:99:99:99:99"


def test_a_network_with_an_uplink_goes_on_beyond_the_host(tmp_path, network, beyond):
    end, place = beyond
    with host_of(tmp_path, uplinks={network: end}) as host:
        (vif,) = host.plug(an_instance(), vif_in(network, 5))
        far = Beyond(place)
        wait_until_it_forwards(end)
        with Wire(vif, bridge_of(vif)) as guest, guest.frames() as ear, far.frames() as mouth:
            dhcp_offer = udp(far.mac, far.ip, "255.255.255.255", ports=(67, 68))
            as_us = arp(far.mac, METADATA, "10.77.0.5")
            ends = bytes(15) + b"\x01" + bytes(15) + b"\x02"
            of_ipv6 = ethernet(far.mac, BROADCAST, 0x86DD, b"\x60\0\0\0\0\0\x3b\x40" + ends)
            tagged = ethernet(far.mac, BROADCAST, 0x8100, b"\0\x05\x88\xb5" + bytes(42))
            hello = arp(far.mac, far.ip, "10.77.0.5")
            unheard = (dhcp_offer, as_us, of_ipv6, tagged)
            for frame in (*unheard, hello):
                mouth.send(frame)
            while (frame := ear.recv(2048)) != hello:
                assert frame[6:12] != hello[6:12]
    assert left_of(network, tmp_path) == []
    assert end in links()


def test_of_dhcp_and_metadata_nothing_leaves_the_host(tmp_path, network, beyond):
    end, place = beyond
    with host_of(tmp_path, uplinks={network: end}) as host:
        (vif,) = host.plug(an_instance(), vif_in(network, 5))
        far = Beyond(place)
        wait_until_it_forwards(end)
        with Wire(vif, bridge_of(vif)) as guest, far.frames() as ear:
            assert guest.ask_for_an_address().ip == "10.77.0.5"
            with guest.frames() as mouth:
                mouth.send(arp(guest.mac, "10.77.0.5", METADATA))
                mouth.send(hello := arp(guest.mac, "10.77.0.5", far.ip))
            heard = []
            while (frame := ear.recv(2048)) != hello:
                heard.append(frame)
            assert [frame for frame in heard if frame[6:12] == hello[6:12]] == []


class Service(http.server.BaseHTTPRequestHandler):
    """Stands for roost-metadata: says who it takes the guest for."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        environ = {f"HTTP_{name.upper().replace('-', '_')}": v for name, v in self.headers.items()}
        try:
            asker = BySignature(SECRET).of(environ)
        except exception.RoostError as error:
            self._answer(403, error.message)
        else:
            self._answer(200, f"{asker.instance_uuid} {asker.project_id} {self.path}")

    def do_POST(self):
        self._answer(200, self.rfile.read(int(self.headers["Content-Length"])).decode())

    def _answer(self, status, text):
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def service():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def told(tmp_path, service):
    """A host whose guests may ask who they are."""
    with host_of(tmp_path, metadata=MetadataService(service, SECRET)) as host:
        yield host


def test_a_guest_reads_who_it_is_whatever_it_says_of_itself(told, network):
    instance, other = an_instance(), an_instance()
    (vif,) = told.plug(instance, vif_in(network, 5))
    told.plug(other, vif_in(network, 6))
    with Wire(vif, bridge_of(vif)) as guest:
        lease = guest.ask_for_an_address()
        assert lease.routes == [(f"{METADATA}/32", "0.0.0.0"), ("0.0.0.0/0", "10.77.0.1")]
        guest.use(lease)
        claim = {"X-Instance-ID": other.uuid, "X-Forwarded-For": "10.77.0.6"}
        found = guest.get("/openstack/a%20b", headers=claim)
        assert found == (200, f"{instance.uuid} project /openstack/a%20b".encode())
        assert guest.get("/openstack/latest/password", method="POST", body="x") == (200, b"x")
        assert guest.get("/", method="DELETE")[0] == 405
