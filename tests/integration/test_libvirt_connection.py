"""The connection to a real libvirtd that is restarted, or breaks, at any moment."""

import subprocess
import sys

import libvirt
import pytest

from roost import exception
from roost.compute.virt.libvirt.connection import Connection
from tests.fakes.libvirtd import Libvirtd


@pytest.fixture(scope="module")
def own_libvirtd(tmp_path_factory):
    """A libvirtd that no other test has: it is killed."""
    folder = tmp_path_factory.mktemp("libvirtd")
    with Libvirtd(folder, folder / "cache") as made:
        yield made


@pytest.fixture
def connection(own_libvirtd):
    made = Connection(own_libvirtd.uri, seconds=60)
    made.call("answer", lambda opened: opened.getLibVersion())
    return made


def restart(libvirtd):
    libvirtd.kill()
    libvirtd.start()


def test_a_libvirtd_that_was_restarted_in_an_idle_moment_is_reached(own_libvirtd, connection):
    heard = []
    connection.listen(heard.append, lambda: heard.append("all"))
    restart(own_libvirtd)
    assert connection.call("answer", lambda opened: opened.getLibVersion())
    assert heard == ["all"]


def test_a_connection_that_counts_as_alive_but_is_broken_is_opened_again(connection):
    class Broken:
        """Says that it is alive, and fails at each call."""

        def isAlive(self):  # noqa: N802 - the binding's name
            return 1

        def getLibVersion(self):  # noqa: N802 - the binding's name
            error = libvirt.libvirtError("client socket is closed")
            error.err = (libvirt.VIR_ERR_INTERNAL_ERROR, libvirt.VIR_FROM_RPC, "closed")
            raise error

    connection._opened = Broken()
    assert connection.call("answer", lambda opened: opened.getLibVersion())
    assert connection.is_alive


def test_a_call_in_which_the_connection_breaks_is_repeated_if_it_may_be(own_libvirtd, connection):
    tries = []

    def break_once(opened):
        tries.append(opened)
        if len(tries) == 1:
            restart(own_libvirtd)
        return opened.getLibVersion()

    assert connection.call("answer", break_once)
    assert len({id(opened) for opened in tries}) == 2
    tries.clear()
    with pytest.raises(exception.Unavailable, match="libvirt cannot be reached"):
        connection.call("answer", break_once, once=True)
    assert len(tries) == 1


def test_what_libvirtd_itself_refuses_is_not_repeated(connection):
    tries = []

    def refused(opened):
        tries.append(opened)
        error = libvirt.libvirtError("no virtlogd")
        error.err = (libvirt.VIR_ERR_SYSTEM_ERROR, libvirt.VIR_FROM_RPC, "no virtlogd")
        raise error

    with pytest.raises(exception.Unavailable):
        connection.call("start a guest", refused)
    assert len(tries) == 1


FORKING = """
import os, queue, sys
from roost.compute.virt.libvirt.connection import Connection

uri = sys.argv[1]
Connection(uri, seconds=60).call("look", lambda opened: opened.getHostname())
if os.fork() == 0:
    connection, heard = Connection(uri, seconds=60), queue.SimpleQueue()
    connection.listen(heard.put, lambda: None)
    os_type = "<os><type>hvm</type></os>"
    guest = f"<domain type='qemu'><name>brief</name><memory>65536</memory>{os_type}</domain>"
    made = connection.call("start a guest", lambda opened: opened.createXML(guest))
    found = heard.get(timeout=30) == made.UUIDString()
    connection.call("stop a guest", lambda opened: opened.lookupByName("brief").destroy())
    os._exit(0 if found else 1)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""


def test_a_daemon_that_has_looked_at_its_node_before_it_forked_hears_of_its_guests(own_libvirtd):
    subprocess.run([sys.executable, "-c", FORKING, own_libvirtd.uri], check=True, timeout=120)
