"""Run an embedded rig in this process: ``python -m roost.rig.serve FOLDER``, until SIGTERM."""

from roost import concurrency

concurrency.select()

import logging
import pathlib
import signal
import sys
import threading

from roost.rig.embedded import PlannedRig
from roost.rig.plan import Plan


def main(folder: str) -> None:
    """Run the rig whose plan is in a folder."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
    rig = PlannedRig(Plan.load(pathlib.Path(folder)))
    over = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: over.set())
    rig.start()
    over.wait()
    rig.stop()


if __name__ == "__main__":
    main(sys.argv[1])
