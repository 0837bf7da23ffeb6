"""Installs the clients of others."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]


def install(folder: pathlib.Path) -> None:
    """Have them in a folder that is kept from run to run."""
    subprocess.run(
        ["sh", ROOT / "tools/clients.sh", folder],
        env={**os.environ, "PYTHON": sys.executable},
        check=True,
    )
