"""Installs the clients of others, and Heat."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]


def install(folder: pathlib.Path) -> None:
    """Have the clients in a folder that is kept from run to run."""
    _run("clients.sh", folder)


def install_heat(folder: pathlib.Path) -> None:
    """Have Heat in another such folder."""
    _run("heat.sh", folder)


def _run(script: str, folder: pathlib.Path) -> None:
    subprocess.run(
        ["sh", ROOT / "tools" / script, folder],
        env={**os.environ, "PYTHON": sys.executable},
        check=True,
    )
