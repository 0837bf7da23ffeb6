"""A stream of libvirt's becomes a socket, which waits for nobody and ends with either side."""

import logging
import queue
import threading

import libvirt
import pytest

from roost import exception
from roost.compute.virt.libvirt import screen, serial
from tests.builders import a_uuid
from tests.stories.cloud import wait_until
from tests.stories.libvirt_domains import a_domain

UUID = a_uuid()


class Stream:
    """What a guest says and hears, as libvirt's remote driver hands it on."""

    def __init__(self):
        self.says, self.heard = queue.Queue(), b""

    def recv(self, _most):
        try:
            said = self.says.get_nowait()
        except queue.Empty:
            return -2
        if said is None:
            raise libvirt.libvirtError("stream had I/O failure")
        return said

    def send(self, typed):
        self.heard += typed[:2]
        return min(len(typed), 2)


class Domain:
    def __init__(self, xml, *, runs=True):
        self._xml, self._runs = xml, runs

    def isActive(self):  # noqa: N802 - libvirt's name
        return self._runs

    def XMLDesc(self):  # noqa: N802
        return self._xml

    def UUIDString(self):  # noqa: N802
        return UUID

    def openConsole(self, device, stream, flags):  # noqa: N802
        assert (device, type(stream)) == (None, Stream)
        assert flags & libvirt.VIR_DOMAIN_CONSOLE_FORCE


class Opened:
    """A connection to libvirtd."""

    def __init__(self, domain):
        self._domain, self.stream, self.alive = domain, Stream(), 1
        self.closed = threading.Event()

    def lookupByUUIDString(self, _uuid):  # noqa: N802
        return self._domain

    def newStream(self, flags):  # noqa: N802
        assert flags == libvirt.VIR_STREAM_NONBLOCK
        return self.stream

    def isAlive(self):  # noqa: N802
        return self.alive

    def close(self):
        self.closed.set()


@pytest.fixture
def opened():
    return Opened(Domain(a_domain().xml()))


@pytest.fixture
def console(opened):
    with serial.connect(opened, UUID) as console:
        console.settimeout(30)
        yield console
    assert opened.closed.wait(30)


def test_both_sides_hear_each_other(opened, console):
    opened.stream.says.put(b"login: ")
    assert console.recv(100) == b"login: "
    console.sendall(b"root\n")
    wait_until(lambda: opened.stream.heard == b"root\n", "the guest hears all of it")


def test_who_leaves_closes_all(opened, console):
    console.close()
    assert opened.closed.wait(30)


@pytest.mark.parametrize("end", [b"", None])
def test_a_guest_that_ends_has_its_last_word_and_closes_all(opened, console, end):
    opened.stream.says.put(b"bye")
    opened.stream.says.put(end)
    assert console.recv(100) == b"bye"
    assert console.recv(100) == b""
    assert opened.closed.wait(30)


def test_a_guest_that_says_more_than_is_read_is_not_kept_waiting(opened, console, caplog):
    caplog.set_level(logging.INFO)
    said = bytes(serial._CHUNK)
    for _ in range(64 * 1024 * 1024 // len(said)):
        opened.stream.says.put(said)
    wait_until(opened.stream.says.empty, "all is taken from it")
    opened.stream.says.put(b"")
    read = sum(map(len, iter(lambda: console.recv(65536), b"")))
    assert 0 < read < 8 * serial._ROOM
    logged = [one.getMessage() for one in caplog.records if one.name == serial.__name__]
    assert logged == ["a serial console's client reads too slowly; parts are only in the log"]


def test_who_loses_the_race_for_a_console_hears_so():
    class Contested(Domain):
        def openConsole(self, *_):  # noqa: N802
            raise Refusal("internal error: stream is not open")

    class Refusal(libvirt.libvirtError):
        def get_error_code(self):
            return libvirt.VIR_ERR_INTERNAL_ERROR

    with pytest.raises(exception.Conflict, match="Another client is opening the serial console"):
        serial.connect(Opened(Contested(a_domain().xml())), UUID)


def test_a_guest_that_does_not_run_has_no_console():
    stopped = Domain(a_domain().xml(), runs=False)
    with pytest.raises(exception.Conflict, match="does not run"):
        serial.check(stopped)
    with pytest.raises(exception.Conflict, match="does not run"):
        screen.connect(stopped, "vnc")


def test_a_guest_that_was_made_otherwise_has_no_such_console():
    heard_by_a_file = Domain(a_domain().xml().replace('type="pty"', 'type="file"'))
    with pytest.raises(exception.Unsupported, match="has no interactive serial console"):
        serial.check(heard_by_a_file)
    with pytest.raises(exception.Unsupported, match="has no spice console"):
        screen.connect(Domain(a_domain(screens=("vnc",)).xml()), "spice")


def test_the_screen_that_is_asked_for_is_found_among_several():
    class Seen(Domain):
        def openGraphicsFD(self, number, flags):  # noqa: N802
            raise LookupError(number, flags)

    both = Seen(a_domain(screens=("vnc", "spice")).xml())
    for number, kind in enumerate(("vnc", "spice")):
        with pytest.raises(LookupError) as asked:
            screen.connect(both, kind)
        assert asked.value.args == (number, libvirt.VIR_DOMAIN_OPEN_GRAPHICS_SKIPAUTH)
