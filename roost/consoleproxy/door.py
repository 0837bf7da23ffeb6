"""The way from the proxy through the door of a host: who brings the token is let in."""

import socket
from typing import Final

from roost import consoles, exception
from roost.consoleproxy.tokens import Place

_PATIENCE: Final = 10.0  # seconds that a host has to let somebody in
_LONGEST: Final = 1024  # bytes of what it answers


def enter(place: Place, token: str) -> socket.socket:
    """Return a connection on which the console speaks next.

    :raises roost.exception.Unavailable: when the host does not let us in
    """
    try:
        door = socket.create_connection((place.host, place.port), timeout=_PATIENCE)
    except OSError as error:
        raise _closed(place, str(error)) from error
    try:
        door.sendall(consoles.GREETING.format(token=token).encode())
        _await_welcome(door, place)
    except OSError as error:
        door.close()
        raise _closed(place, str(error)) from error
    except exception.Unavailable:
        door.close()
        raise
    return door


def _await_welcome(door: socket.socket, place: Place) -> None:
    """Read exactly the welcome: what comes after it is the console's."""
    said = b""
    while not said.endswith(consoles.END):
        more = door.recv(1)
        if not more or len(said) > _LONGEST:
            raise _closed(place, "it does not know the token, or has nobody to lead to")
        said += more
    if said != consoles.WELCOME:
        raise _closed(place, "it answers what no door does")


def _closed(place: Place, why: str) -> exception.Unavailable:
    return exception.Unavailable(
        f"The consoles at port {place.port} of {place.host} cannot be reached: {why}"
    )
