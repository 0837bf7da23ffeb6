"""The way from hosts to this machine's loopback: ``python -m roost.rig.hypervisors.gate FOLDER``.

Brokers and others listen on loopback, where hosts are not. Each port of theirs is one of the
gateway of the hosts' network, too, as long as this runs.
"""

import contextlib
import pathlib
import signal
import sys
import threading

from roost.rig.forwarder import Forwarder
from roost.rig.hypervisors import hosts
from roost.rig.plan import Plan


def main(folder: str) -> None:
    """Lead hosts of the rig in a folder, until SIGTERM."""
    plan = Plan.load(pathlib.Path(folder))
    over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    with contextlib.ExitStack() as opened:
        for port, target in hosts.doors(plan).items():
            forwarder = Forwarder(target, port=port, host=plan.network.gateway)
            forwarder.open()
            opened.callback(forwarder.close)
        over.wait()


if __name__ == "__main__":
    main(sys.argv[1])
