"""Consoles of pretended guests, and what they say to viewers."""

import contextlib

import pytest

from roost.compute.virt.fake import console as fake_console
from roost.objects import consoles


@pytest.fixture
def opened():
    """Open a console of a guest that runs, past its greeting."""
    with contextlib.ExitStack() as stack:

        def opened(kind):
            console = stack.enter_context(fake_console.start(kind, runs=lambda: True))
            console.settimeout(30)
            assert console.recv(100) == fake_console.GREETINGS[kind]
            return console

        yield opened


def told(console, said):
    console.sendall(said)
    return console.recv(100)


def test_a_screen_welcomes_a_viewer_as_servers_of_vnc_do(opened):
    screen = opened(consoles.VNC)
    assert told(screen, b"RFB 003.008\n") == b"\x01\x01"
    assert told(screen, b"\x01") == bytes(4)
    shown = told(screen, b"\x01")
    assert shown[:4] == b"\x00\x01\x00\x01"
    assert (shown[20:24], shown[24:]) == (b"\x00\x00\x00\x09", b"pretended")
    screen.sendall(b"\x03\x00")
    screen.settimeout(0.3)
    with pytest.raises(TimeoutError):
        screen.recv(1)


@pytest.mark.parametrize("kind", consoles.KINDS)
def test_who_is_no_viewer_hears_their_own_words(opened, kind):
    console = opened(kind)
    for said in (b"RFB", b"RFB 003.008\n"):
        assert told(console, said) == said
