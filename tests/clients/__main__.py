"""Run the functional tests that a client brings, against a rig that is made for them.

``python -m tests.clients sdk`` or ``osc`` (``make clients``). The rig ends with the run, on
Ctrl-C, too. Exits 1 when a test failed, or none was run.
"""

from roost import concurrency

concurrency.select([])

import argparse
import pathlib
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from roost.rig.plan import Plan
from tests.clients import functional, installation
from tests.tempest.running import FAILED, PASSED

OUTSIDE = installation.ROOT / ".services/outside"
_ROOST_RIG = pathlib.Path(sys.executable).parent / "roost-rig"


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.clients", description=__doc__)
    parser.add_argument("client", choices=functional.SUITES)
    parser.add_argument("regex", nargs="*", help="which tests, if not all that mean Compute")
    asked = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    installation.install(OUTSIDE / "clients")
    with tempfile.TemporaryDirectory(prefix="roost-clients-") as folder:
        results = _run(asked.client, asked.regex, pathlib.Path(folder))
    print("", *results.summary(), sep="\n")
    return 0 if results.tests[PASSED] and not results.tests[FAILED] else 1


def _run(client: str, regex: list[str], folder: pathlib.Path) -> functional.Results:
    state, workspace = folder / "rig", folder / "workspace"
    workspace.mkdir()
    size = ("--embedded", "--cells", "1", "--hosts", "2", "--any-ports")
    try:
        _rig("up", state, *size, "--with", "keystone,glance,neutron", "--cache", str(OUTSIDE))
        with functional.clouds(Plan.load(state), workspace):
            suite = functional.SUITES[client]
            return functional.run(suite, OUTSIDE / "clients", workspace, *regex)
    finally:
        _rig("down", state, "--if-there")


def _rig(command: str, state: pathlib.Path, *words: str) -> None:
    subprocess.run([_ROOST_RIG, command, "--state", state, *words], check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
