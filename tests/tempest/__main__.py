"""Make a cloud, run Tempest against it, say what came of it: ``python -m tests.tempest``.

Everything that was begun ends with it, on Ctrl-C, too. Exits 1 when a test failed; then the folder
with all logs is left, and named.
"""

from roost import concurrency

concurrency.select([])

import argparse
import pathlib
import shutil
import signal
import sys
import tempfile
from collections.abc import Sequence

from tests.tempest import running
from tests.tempest.cloud import cloud

OUTSIDE = running.ROOT / ".services/outside"
_ALONE = r"tempest\.api\.compute"
_REAL = r"tempest\.(api\.compute|scenario|serial_tests)"


def main(arguments: Sequence[str]) -> int:
    asked = _read(arguments)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    running.install(OUTSIDE / "tempest")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="roost-tempest-"))
    passed = False
    try:
        passed = _run(asked, folder)
    except KeyboardInterrupt:
        print("ended before its time")
    finally:
        if passed and not asked.keep:
            shutil.rmtree(folder)
        else:
            print(f"logs and results are in {folder}")
    return 0 if passed else 1


def _read(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.tempest", description=__doc__)
    parser.add_argument("regex", nargs="?", help="which tests, if not all that mean Compute")
    parser.add_argument("--real", action="store_true", help="with a real Glance and Neutron, too")
    parser.add_argument("--habits", action="store_true", help="only those of the integration tests")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once")
    parser.add_argument("--keep", action="store_true", help="leave logs and results in any case")
    return parser.parse_args(arguments)


def _run(asked: argparse.Namespace, folder: pathlib.Path) -> bool:
    workspace = folder / "tempest"
    workspace.mkdir()
    regex = asked.regex or (_REAL if asked.real else _ALONE)
    chosen = ["--include-list", running.HABITS] if asked.habits else ["--regex", regex]
    with cloud(OUTSIDE, folder, real=asked.real) as made:
        tempest = running.Tempest(OUTSIDE / "tempest", workspace, made)
        passed, results = tempest.run(*chosen, "--concurrency", str(asked.jobs))
    print("", *results.summary(), sep="\n")
    return passed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
