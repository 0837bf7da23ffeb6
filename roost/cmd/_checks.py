"""Startup checks that daemons wait for before they serve."""

import ipaddress
import socket
from collections.abc import Callable

import oslo_messaging as messaging
from oslo_config import cfg

from roost import exception, migrations
from roost.cmd._waiting import StartupCheck
from roost.db.engine import Database

DEFAULT_PORT = 5672
SECONDS = 5  # for a broker's port to answer


def schema(database: Database, kind: str) -> StartupCheck:
    """The database can be reached, and ``roost-manage db sync`` has been run on it."""
    return StartupCheck(f"the {kind} database", lambda: migrations.check(database, kind))


def broker(conf: cfg.ConfigOpts, url: str | None) -> StartupCheck:
    """One of the brokers of a bus takes connections.

    oslo.messaging would wait by itself, but without growing pauses, and a stop could not interrupt
    it. The login at the broker is left to it.
    """
    target = messaging.TransportURL.parse(conf, url)
    if target.transport == "fake":
        return StartupCheck("the bus in this process", lambda: None)
    places = [(host.hostname, host.port or DEFAULT_PORT) for host in target.hosts]
    places = places or [("localhost", DEFAULT_PORT)]
    named = ", ".join(f"{host}:{port}" for host, port in places)
    return StartupCheck(f"the broker at {named}", _one_answers(places))


def address(host: str, port: int) -> StartupCheck:
    """No other process listens on the address and port of this daemon."""
    return StartupCheck(f"{host} port {port} to be free", lambda: _bind(host, port))


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches an address; true for a name that is not resolved."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return all(ipaddress.ip_address(place[0]).is_loopback for *_, place in found)


def _bind(host: str, port: int) -> None:
    family, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(place)
        except OSError as error:
            raise exception.Unavailable(f"{error.strerror}; [api] port names another") from error


def _one_answers(places: list[tuple[str, int]]) -> Callable[[], None]:
    def ask() -> None:
        reasons = []
        for place in places:
            try:
                socket.create_connection(place, timeout=SECONDS).close()
            except OSError as error:
                reasons.append(str(error))
            else:
                return
        raise exception.Unavailable("; ".join(reasons))

    return ask
