"""Guests of libvirt go from one libvirtd to another while they run: memory, disks and all."""

import contextlib
import dataclasses
import json
import os
import pickle
import signal
import subprocess
import sys

import libvirt
import pytest

from roost import exception
from roost.compute.network.bindings import tap_of
from roost.compute.virt.libvirt import probe
from roost.compute.virt.libvirt.driver import LibvirtDriver
from roost.compute.virt.libvirt.settings import LibvirtSettings, MigrationSettings
from roost.objects import NetworkInfo
from roost.operations.presence import MigrationOutcome, Presence
from roost.rig.hypervisors import linux_guest
from tests.builders import a_flavor, a_uuid, a_vif, an_image, an_instance
from tests.fakes.libvirtd import Libvirtd
from tests.integration.conftest import STATE
from tests.stories.cloud import wait_until
from tests.stories.real_guests import BOOTED
from tests.stories.virt_migrations import *  # noqa: F403
from tests.stories.virt_migrations import SOON, Move, assert_stayed

pytestmark = pytest.mark.timeout(600)  # the first one makes a guest, and libvirt looks at QEMU
SLOWLY = 1  # MiB a second
MIB = 1024 * 1024
DAEMON = """
import pickle, sys
from roost.compute.virt.libvirt.driver import LibvirtDriver
settings, uuid, arrival = pickle.load(sys.stdin.buffer)
LibvirtDriver(settings).departures().move(uuid, arrival)
"""
HEARD = "guest: agent: set-user-password"


class Wire:
    """A network namespace, and the cable from there to here."""

    def __init__(self):
        number = os.getpid() % 0xFFFF
        self.namespace, self._end = f"roost-{number}", f"roost-{number}w"
        self.here, self.there = (f"10.{number >> 8}.{number & 0xFF}.{last}" for last in (1, 2))

    def __enter__(self):
        ip("netns", "add", self.namespace)
        ip(
            "link",
            "add",
            self._end,
            "type",
            "veth",
            "peer",
            "name",
            "wire",
            "netns",
            self.namespace,
        )
        for address, end, within in (
            (self.here, self._end, ()),
            (self.there, "wire", ("-n", self.namespace)),
        ):
            ip(*within, "address", "add", f"{address}/30", "dev", end)
            ip(*within, "link", "set", end, "up")
        return self

    def __exit__(self, *_failure):
        ip("netns", "del", self.namespace)  # and the cable with it

    @contextlib.contextmanager
    def bridges(self):
        """Yield the names of two bridges, here and there."""
        here, there = f"{self.namespace}b", "bridge"
        ip("link", "add", here, "type", "bridge")
        ip("-n", self.namespace, "link", "add", there, "type", "bridge")
        try:
            yield here, there
        finally:
            ip("link", "del", here)

    def plugged(self):
        """Return the links on the bridge there."""
        told = ip("-n", self.namespace, "-o", "link", "show", "master", "bridge")
        return [line.split(": ")[1] for line in told.splitlines()]


def ip(*words):
    done = subprocess.run(["/usr/sbin/ip", *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wire():
    with Wire() as wire:
        yield wire


@pytest.fixture(scope="module")
def other_libvirtd(libvirtd, wire, tmp_path_factory):
    """A second one, that takes itself for another machine, at the other end of the wire."""
    apart = {"hostname": "other", "namespace": wire.namespace}
    with Libvirtd(tmp_path_factory.mktemp("other"), STATE / "libvirt", **apart) as made:
        made.address, libvirtd.address = wire.there, wire.here
        yield made
        assert made.guests() == {}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory, wire):
    """A folder of certificates by QEMU's names, for both ends of the wire."""
    folder = tmp_path_factory.mktemp("pki")
    openssl(
        folder,
        "req -x509 -days 30 -newkey rsa:2048 -nodes -keyout ca-key.pem -out ca-cert.pem -subj /CN=a"
        " -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign",
    )
    (folder / "extensions").write_text(
        f"subjectAltName=IP:{wire.here},IP:{wire.there}\nextendedKeyUsage=serverAuth,clientAuth\n"
        "keyUsage=digitalSignature,keyEncipherment\n"
    )
    for side in ("server", "client"):
        key = f"req -newkey rsa:2048 -nodes -keyout {side}-key.pem -out {side}.csr -subj /CN=h1"
        openssl(folder, key)
        openssl(
            folder,
            f"x509 -req -in {side}.csr -CA ca-cert.pem -CAkey ca-key.pem -CAcreateserial -days 30"
            f" -out {side}-cert.pem -extfile extensions",
        )
    return folder


def openssl(folder, words):
    done = subprocess.run(["openssl", *words.split()], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


class Hosts:
    """Two hosts, each with a libvirtd; they share no storage, unless they have the same folder."""

    def __init__(self, folder, libvirtd, other, *, nodes=("h1", "h2"), folders=("h1", "h2")):
        self.folder = folder
        self.one, self.other = libvirtd, other
        self.settings = self._settings(nodes[0], folder / folders[0], libvirtd)
        self._destination = self._settings(nodes[1], folder / folders[1], other)

    def source(self):
        return LibvirtDriver(self.settings)

    def destination(self):
        return LibvirtDriver(self._destination)

    @contextlib.contextmanager
    def slowed(self, **values):
        quick = self.settings
        slow = dataclasses.replace(quick.migration, **{"bandwidth": SLOWLY} | values)
        self.settings = dataclasses.replace(quick, migration=slow)
        try:
            yield
        finally:
            self.settings = quick

    @contextlib.contextmanager
    def dies(self):
        self.other.kill()
        try:
            yield
        finally:
            self.other.start()

    def end(self):
        """End what runs, without waiting: QEMU takes its time."""
        for pid in (*self.one.guests().values(), *self.other.guests().values()):
            os.kill(pid, signal.SIGKILL)

    def clean(self):
        self.end()
        for driver in (self.source(), self.destination()):
            for uuid in driver.list_guests():
                driver.destroy(uuid)

    def _settings(self, node, folder, libvirtd):
        moving = MigrationSettings(uri=libvirtd.uri, address=libvirtd.address, post_copy=True)
        return LibvirtSettings(
            node=node,
            folder=folder,
            uri=libvirtd.uri,
            virt_type="qemu",
            shutdown_seconds=0.5,
            migration=moving,
        )


@pytest.fixture(scope="module")
def used(libvirtd, other_libvirtd):
    """The hosts of all tests, which are cleaned when all are done."""
    used = []
    yield used
    for hosts in used:
        hosts.clean()


@pytest.fixture
def hosts(libvirtd, other_libvirtd, used, tmp_path):
    hosts = Hosts(tmp_path / "hosts", libvirtd, other_libvirtd)
    used.append(hosts)
    yield hosts
    hosts.end()


@pytest.fixture
def image_path(request, tmp_path):
    """A disk that is not copied in a moment."""
    size = 64 * MIB if "no_end" in request.fixturenames else 0
    path = tmp_path / "sector.img"
    path.write_bytes((probe.disk(rounds=1) + os.urandom(3 * MIB)).ljust(size, b"\0"))
    return path


def test_without_certificates_nothing_leaves_a_host_that_encrypts(spawned):
    with spawned.hosts.slowed(native_tls=True):
        departures = spawned.hosts.source().departures()
        with pytest.raises(exception.Unavailable, match="Unable to access credentials"):
            departures.move(spawned.uuid, spawned.prepare(with_image=False))
    assert_stayed(spawned)


def test_with_certificates_a_guest_goes_encrypted(a_move, wire, certificates, tmp_path):
    there = {"hostname": "other", "namespace": wire.namespace, "tls": certificates}
    cache = STATE / "libvirt"
    with (
        Libvirtd(tmp_path / "one", cache, tls=certificates) as one,
        Libvirtd(tmp_path / "other", cache, **there) as other,
    ):
        one.address, other.address = wire.here, wire.there
        encrypting = Hosts(tmp_path / "encrypting", one, other)
        move = a_move()
        move.hosts = encrypting
        move.source, move.destination = encrypting.source(), encrypting.destination()
        move.spawn()
        with encrypting.slowed(native_tls=True, bandwidth=0):
            move.source = encrypting.source()
            move.run()
        move.finish()
        assert move.where() == (Presence.ABSENT, Presence.HERE)
        encrypting.clean()


def test_a_move_outlives_the_daemon_that_began_it(spawned):
    with spawned.hosts.slowed():
        settings, incoming = spawned.hosts.settings, spawned.prepare(with_image=False)
    with begun_elsewhere(settings, spawned.uuid, incoming) as daemon:
        wait_until(spawned.has_copied, "something is copied", timeout=SOON)
        assert daemon.poll() is None
    assert spawned.outcome() is MigrationOutcome.WAIT
    wait_until(
        lambda: spawned.outcome() is MigrationOutcome.ARRIVED, "it has arrived", timeout=SOON
    )
    spawned.finish()
    assert spawned.where() == (Presence.ABSENT, Presence.HERE)


@contextlib.contextmanager
def begun_elsewhere(settings, uuid, incoming):
    """Have a process of its own move a guest, until it is killed."""
    daemon = subprocess.Popen([sys.executable, "-c", DAEMON], stdin=subprocess.PIPE)
    try:
        pickle.dump((settings, uuid, incoming), daemon.stdin)
        daemon.stdin.flush()
        yield daemon
    finally:
        daemon.kill()
        daemon.communicate()


def test_a_guest_whose_source_dies_while_it_goes_stays_there(no_end, spawned, libvirtd):
    with spawned.under_way() as moving:
        libvirtd.kill()
        try:
            assert isinstance(moving.exception(SOON), exception.Unavailable)
        finally:
            libvirtd.start()
    assert_stayed(spawned)


def test_a_move_that_takes_too_long_is_aborted(no_end, spawned):
    with spawned.hosts.slowed(seconds_per_gib=1):
        departures = spawned.hosts.source().departures()
        with pytest.raises(exception.Timeout, match="took too long"):
            departures.move(spawned.uuid, spawned.prepare(with_image=False))
    assert_stayed(spawned)


def test_a_guest_is_plugged_into_the_bridge_of_its_destination(a_move, wire):
    with wire.bridges() as bridges:
        port = {"id": a_uuid(), "mac": "02:00:00:00:00:07", "type": "bridge"}
        here, there = (
            a_vif(**port, details={"bridge_name": json.dumps(bridge)}) for bridge in bridges
        )
        move = a_move([here])
        move.spawn()
        move.info_there = NetworkInfo.of(vifs=[there])
        move.run()
        forget(move)
        move.finish()
        assert wire.plugged() == [tap_of(here.id)]
        move.destination.reboot(move.uuid, hard=True)
        assert wire.plugged() == [tap_of(here.id)]
        move.destination.destroy(move.uuid)


def forget(move):
    """Have libvirt there forget a guest once it ends, as if it had failed to note it."""
    opened = libvirt.open(move.hosts.other.uri)
    opened.lookupByUUIDString(move.uuid).undefine()
    opened.close()


def with_domain(was, is_):
    """Return what is changed of a departure whose guest asks for something else."""

    def changed(outgoing):
        domain = outgoing.details["domain"]
        assert was in domain
        return {"details": outgoing.details | {"domain": domain.replace(was, is_)}}

    return changed


def with_large_disks(outgoing):
    (disk,) = outgoing.disks
    return {"disks": (dataclasses.replace(disk, used=2**60),)}


def test_a_guest_that_cannot_run_at_its_destination_is_refused_with_the_reason(spawned):
    outgoing = spawned.source.departures().describe(spawned.uuid)
    check = spawned.destination.arrivals().check
    check(outgoing)
    for kind, why, changed in (
        (
            exception.Unsupported,
            "to the same version or a later",
            lambda _: {"hypervisor_version": 10**8},
        ),
        (
            exception.Unsupported,
            "this host has QEMU .*, its source Xen",
            lambda _: {"hypervisor_type": "Xen"},
        ),
        (exception.Unsupported, "with KVM", with_domain("type='qemu'", "type='kvm'")),
        (exception.Unsupported, "pc-of-tomorrow", with_domain("pc-i440fx", "pc-of-tomorrow")),
        (exception.Unsupported, "features that", with_domain(">qemu64<", ">EPYC-Rome<")),
        (exception.Unsupported, "no-such-model", with_domain(">qemu64<", ">no-such-model<")),
        (
            exception.Unsupported,
            "from a kernel file",
            with_domain("</os>", "<kernel>/k</kernel></os>"),
        ),
        (exception.NoCapacity, "h2 has", with_large_disks),
    ):
        with pytest.raises(kind, match=why):
            check(dataclasses.replace(outgoing, **changed(outgoing)))
    assert spawned.where() == (Presence.HERE, Presence.ABSENT)


@pytest.fixture(scope="module")
def linux(libvirtd, other_libvirtd, used, linux_image, tmp_path_factory):
    """A Linux that is up, on storage that both hosts share; its agent says what it hears."""
    folder = tmp_path_factory.mktemp("linux")
    hosts = Hosts(folder, libvirtd, other_libvirtd, folders=("shared", "shared"))
    image = an_image(
        size=linux_image.stat().st_size,
        disk_format="qcow2",
        properties={"hw_qemu_guest_agent": "yes"},
    )
    flavor = a_flavor(memory_mb=linux_guest.MEMORY_MB, root_gb=0, ephemeral_gb=0, swap=16)
    move = Move(hosts, an_instance(flavor=flavor, image=image, attempt=1), linux_image, [a_vif()])
    move.spawn()
    wait_until_it_says(move.source, move.uuid, linux_guest.READY)
    used.extend([hosts, between(move, "h2", "h3", h3="own").hosts])
    return move


def between(move, source, destination, **folders):
    """Return the same guest as it goes between other hosts, the first of the second libvirtd."""
    there, here = move.hosts.other, move.hosts.one
    places = (folders.get(name, "shared") for name in (source, destination))
    hosts = Hosts(
        move.hosts.folder, there, here, nodes=(source, destination), folders=tuple(places)
    )
    return Move(hosts, move.instance, move.image_path, move.info.vifs)


def wait_until_it_says(driver, uuid, words):
    wait_until(lambda: words in driver.console_output(uuid), words, timeout=BOOTED)


def answers(driver, uuid):
    """Have the guest's own system do something, and say so."""
    before = driver.console_output(uuid).count(HEARD)
    driver.set_password(uuid, "secret")
    wait_until(lambda: driver.console_output(uuid).count(HEARD) > before, "it answers")
    said = driver.console_output(uuid)
    return "guest: boot 1\n" in said and "guest: boot 2\n" not in said


def test_a_linux_that_goes_by_post_copy_finds_its_shared_disks_and_goes_on(linux):
    root = linux.hosts.folder / "shared" / linux.uuid / "root.qcow2"
    before = root.stat().st_ino
    with linux.under_way() as moving:
        linux.source.departures().switch_to_post_copy(linux.uuid)
        moving.result(SOON)
    assert linux.where() == (Presence.ROOM, Presence.HERE)
    linux.finish()
    assert linux.where() == (Presence.ABSENT, Presence.HERE)
    assert root.stat().st_ino == before
    assert answers(linux.hosts.destination(), linux.uuid)


def test_a_linux_comes_back_with_copies_of_its_disks_and_has_all_that_it_wrote(linux):
    back = between(linux, "h2", "h3", h3="own")
    uptime = back.source.diagnostics(back.uuid).uptime
    back.run()
    back.finish()
    assert back.destination.diagnostics(back.uuid).uptime >= uptime > 0
    assert back.where() == (Presence.ABSENT, Presence.HERE)
    assert not (linux.hosts.folder / "shared" / linux.uuid).exists()
    assert answers(back.destination, linux.uuid)
    back.destination.reboot(linux.uuid, hard=True)
    wait_until_it_says(back.destination, linux.uuid, "guest: boot 2\n")
    assert "guest: boot 1\n" in back.destination.console_output(linux.uuid)
