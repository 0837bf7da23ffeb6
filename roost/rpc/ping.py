"""Whether a broker answers: asked by a connection of its own, in a bounded time, without login.

oslo.messaging cannot be told how long to wait, and takes minutes with a broker that fell silent.
"""

import socket
import ssl
from typing import Final

import oslo_messaging as messaging

from roost import exception

DEFAULT_PORT: Final = 5672
_GREETING: Final = b"AMQP\x00\x00\x09\x01"  # a client's first words; the broker's own follow


def ping(url: messaging.TransportURL, *, seconds: float, tls: bool) -> None:
    """Return when one of the brokers of a bus has answered.

    :param seconds: for each broker
    :raises roost.exception.Unavailable: when none does
    """
    reasons = []
    for host in url.hosts:
        place = (host.hostname, host.port or DEFAULT_PORT)
        try:
            _greet(place, seconds=seconds, tls=tls)
        except OSError as error:
            reasons.append(f"{place[0]}:{place[1]}: {error}")
        else:
            return
    raise exception.Unavailable("; ".join(reasons))


def _greet(place: tuple[str, int], *, seconds: float, tls: bool) -> None:
    with _connected(place, seconds=seconds, tls=tls) as way:
        way.sendall(_GREETING)
        if not way.recv(1):
            raise ConnectionResetError("the connection was closed without an answer")


def _connected(place: tuple[str, int], *, seconds: float, tls: bool) -> socket.socket:
    if not tls:
        return socket.create_connection(place, timeout=seconds)
    error = OSError("it has no address")
    for family, kind, protocol, _name, address in socket.getaddrinfo(*place, 0, socket.SOCK_STREAM):
        # Secured before it is connected: one that is lost in between would not be closed by ssl.
        way = _secured(socket.socket(family, kind, protocol))
        try:
            way.settimeout(seconds)
            way.connect(address)
        except OSError as failure:
            way.close()
            error = failure
        else:
            return way
    raise error


def _secured(plain: socket.socket) -> socket.socket:
    """Nothing secret is sent, so whoever answers will do: who it is, is asked at login."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(plain)
