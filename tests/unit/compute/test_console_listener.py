"""Who brings the right token to a host's door is led to a console, and nobody else."""

import socket

import pytest

from roost import exception
from roost.compute.operations.consoles import ConsoleListener, ConsoleSettings
from roost.compute.virt.fake.console import GREETINGS
from roost.objects import consoles
from tests.builders import a_context, a_uuid

TOKEN = "t" * len(consoles.new_token())


@pytest.fixture
def guest(rig, boot):
    """Boot a guest; return its manager and uuid."""
    manager, instance = rig.manager(), rig.instance()
    boot(manager, instance)
    yield manager, instance.uuid
    manager.close()


def grant(guest, token=TOKEN, kind="vnc", seconds=60):
    manager, uuid = guest
    place = manager.open_console(
        a_context(),
        instance_uuid=uuid,
        kind=kind,
        token_digest=consoles.digest(token),
        seconds=seconds,
    )
    return place["host"], place["port"]


class Caller:
    """Comes to a door as the proxy does."""

    def __init__(self, place, said):
        self.socket = socket.create_connection(place, timeout=10)
        self.socket.sendall(said)

    def hear(self, count):
        heard = b""
        while len(heard) < count and (more := self.socket.recv(count - len(heard))):
            heard += more
        return heard

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()


def come(place, token=TOKEN):
    return Caller(place, consoles.GREETING.format(token=token).encode())


@pytest.mark.parametrize("kind", consoles.KINDS)
def test_a_token_leads_to_the_console_and_what_is_typed_arrives(guest, kind):
    with come(grant(guest, kind=kind)) as caller:
        expected = consoles.WELCOME + GREETINGS[kind]
        assert caller.hear(len(expected)) == expected
        caller.socket.sendall(b"ls\n")
        assert caller.hear(3) == b"ls\n"


def test_an_expired_token_leads_nowhere(rig, guest):
    clock = iter([0.0, 59.0, 61.0])
    _manager, uuid = guest
    door = ConsoleListener(rig.virt, clock=lambda: next(clock))
    place = door.grant(uuid, kind="vnc", token_digest=consoles.digest(TOKEN), seconds=60)
    with come(place) as early:
        assert early.hear(len(consoles.WELCOME)) == consoles.WELCOME
    with come(place) as late:
        assert late.hear(1) == b""
    door.close()


@pytest.mark.parametrize(
    "said",
    [
        consoles.GREETING.format(token="x" * len(TOKEN)).encode(),
        consoles.GREETING.format(token=consoles.digest(TOKEN)).encode(),
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff" * 300,
        b"\r\n\r\n",
    ],
)
def test_whoever_says_something_else_is_hung_up_on(guest, said):
    with Caller(grant(guest), said) as caller:
        assert _hung_up(caller)


def _hung_up(caller):
    try:
        return caller.hear(1) == b""
    except ConnectionResetError:
        return True


def test_all_consoles_of_a_host_have_one_door(guest):
    assert grant(guest) == grant(guest, token=consoles.new_token(), kind="serial")


def test_a_console_ends_with_its_guest(guest, rig):
    with come(grant(guest)) as caller:
        assert caller.hear(len(consoles.WELCOME))
        caller.hear(len(GREETINGS["vnc"]))
        rig.virt.destroy(guest[1])
        assert caller.hear(1) == b""


def test_the_end_of_the_daemon_ends_consoles_and_opens_no_more(guest):
    place = grant(guest)
    with come(place) as caller:
        assert caller.hear(len(consoles.WELCOME))
        caller.hear(len(GREETINGS["vnc"]))
        guest[0].close()
        assert caller.hear(1) == b""
    with pytest.raises(OSError, match="refused"):
        come(place)
    with pytest.raises(exception.Unavailable, match="about to stop"):
        grant(guest)


def test_the_proxy_is_told_the_address_that_leads_here(rig, guest):
    door = ConsoleListener(rig.virt, ConsoleSettings(listen="127.0.0.1", address="host.example"))
    told = door.grant(guest[1], kind="vnc", token_digest="d", seconds=1)
    assert told[0] == "host.example"
    taken = ConsoleListener(rig.virt, ConsoleSettings(port=told[1]))
    with pytest.raises(exception.Unavailable, match="consoles of this host cannot be reached"):
        taken.grant(guest[1], kind="vnc", token_digest="d", seconds=1)
    door.close()


def test_a_guest_that_does_not_run_has_no_console(guest, rig):
    rig.virt.power_off(guest[1])
    with pytest.raises(exception.Conflict, match="is not ready"):
        grant(guest)
    with pytest.raises(exception.NotFound):
        grant((guest[0], a_uuid()))
