"""The way from hosts to this machine's loopback: ``python -m ... ADDRESS PORT=HOST:PORT ...``.

Brokers and others listen on loopback, where hosts are not. Each port of theirs is one of the
gateway of the hosts' network, too, as long as this runs.
"""

import contextlib
import signal
import sys
import threading
from collections.abc import Mapping

from roost.rig.forwarder import Forwarder

Doors = Mapping[int, tuple[str, int]]


def words(address: str, doors: Doors) -> list[str]:
    """Return what it is called with, to lead from these ports of an address."""
    return [address, *(f"{port}={host}:{there}" for port, (host, there) in doors.items())]


def read(told: list[str]) -> tuple[str, dict[int, tuple[str, int]]]:
    """Return the address and the doors of :func:`words`."""
    address, *entries = told
    doors = {}
    for entry in entries:
        port, _, target = entry.partition("=")
        host, _, there = target.rpartition(":")
        doors[int(port)] = (host, int(there))
    return address, doors


def main(told: list[str]) -> None:
    """Lead on until SIGTERM."""
    over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    address, doors = read(told)
    with contextlib.ExitStack() as opened:
        for port, target in doors.items():
            forwarder = Forwarder(target, port=port, host=address)
            forwarder.open()
            opened.callback(forwarder.close)
        over.wait()


if __name__ == "__main__":
    main(sys.argv[1:])
