"""Install Keystone, Glance and Neutron from the package index, once for all rigs of a machine.

Each list of versions has a folder of its own below the cache, so a new one takes nothing away
from rigs that still run with another. It holds ``venv``, an environment of their own, and empty
databases for rigs to copy: making these takes longer than all else. ``python -m
roost.rig.openstack.packages CACHE`` installs them beforehand.
"""

import base64
import contextlib
import fcntl
import hashlib
import os
import pathlib
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence

from roost import exception
from roost.rig.files import Options, config_text, write_secret

HERE = pathlib.Path(__file__).parent
REQUIREMENTS = HERE / "requirements.txt"
FIRST_PASSWORD = "admin"  # noqa: S105 - of an administrator whom each rig gives another
_LAST_LINES = 15


def install(cache: pathlib.Path, *, say: Callable[[str], object] = print) -> pathlib.Path:
    """Return the folder of the installation, made if it is not there: that takes a minute or two.

    Calls at the same time wait for each other; what an interrupted one left is made anew.

    :param cache: for what is kept from rig to rig
    :raises roost.exception.Unavailable: when something cannot be installed, saying what to do
    """
    folder = installation(cache.resolve())
    done = folder / "complete"
    with _locked(folder.with_suffix(".lock")):
        if not done.exists():
            say(f"installing Keystone, Glance and Neutron into {folder} (a minute or two, once)")
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            _make_environment(folder)
            say("making their empty databases")
            _make_databases(folder)
            done.touch()
    return folder


def installation(cache: pathlib.Path) -> pathlib.Path:
    """Return where the installation is, or would be."""
    return cache / "openstack" / _version()


def write_keys(folder: pathlib.Path) -> None:
    """Write the keys that Keystone encrypts tokens with: one for now, one that will be next."""
    folder.mkdir(mode=0o700)
    for name in ("0", "1"):
        write_secret(folder / name, base64.urlsafe_b64encode(secrets.token_bytes(32)).decode())


def key_options(folder: pathlib.Path) -> dict[str, dict[str, pathlib.Path]]:
    """Return the options by which Keystone finds its keys."""
    return {
        group: {"key_repository": folder}
        for group in ("fernet_tokens", "fernet_receipts", "credential")
    }


def _version() -> str:
    """Return a name for what is installed now: by the list, how it is made, and this Python."""
    made_by = (REQUIREMENTS, pathlib.Path(__file__), HERE / "tables.py")
    parts = [*(file.read_text() for file in made_by), sys.version, sys.base_prefix]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]


@contextlib.contextmanager
def _locked(file: pathlib.Path) -> Iterator[None]:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make_environment(folder: pathlib.Path) -> None:
    log, venv = folder / "log", folder / "venv"
    _run(
        [sys.executable, "-m", "venv", str(venv)],
        log,
        advice="on Debian, python3-venv has what it takes",
    )
    pip = [str(venv / "bin/python"), "-m", "pip", "--disable-pip-version-check", "install"]
    _run(
        [*pip, "--requirement", str(REQUIREMENTS)],
        log,
        advice="is the package index reachable? The environment variables of pip say which it is",
    )


def _make_databases(folder: pathlib.Path) -> None:
    """Make those that rigs copy, Keystone's with its first administrator and no catalog."""
    write_keys(folder / "keys")
    for name in ("keystone", "glance"):
        options: Options = {
            "database": {"connection": f"sqlite:///{folder}/{name}.sqlite"},
            **key_options(folder / "keys"),
            "identity": {"password_hash_rounds": 4},
        }
        (folder / f"{name}.conf").write_text(config_text(options))
        _manage(folder, folder / f"{name}.conf", "db_sync", log=folder / "log")
    bootstrap(folder, folder / "keystone.conf", FIRST_PASSWORD, log=folder / "log")
    python, url = folder / "venv/bin/python", f"sqlite:///{folder}/neutron.sqlite"
    _run([str(python), "-I", str(HERE / "tables.py"), url], folder / "log")


def bootstrap(
    installed: pathlib.Path, file: pathlib.Path, password: str, *, log: pathlib.Path
) -> None:
    """Give Keystone an administrator, or another password to the one that it has.

    :param file: its configuration
    """
    _manage(installed, file, "bootstrap", log=log, environment={"OS_BOOTSTRAP_PASSWORD": password})


def _manage(
    installed: pathlib.Path,
    file: pathlib.Path,
    word: str,
    *,
    log: pathlib.Path,
    environment: Mapping[str, str] | None = None,
) -> None:
    program = installed / f"venv/bin/{file.stem}-manage"
    _run([str(program), "--config-file", str(file), word], log, environment=environment)


def _run(
    command: Sequence[str],
    log: pathlib.Path,
    *,
    advice: str = "",
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run a command to its end.

    :param advice: what to do when it fails
    :param environment: beside that of this process, of which what is for our own Python is left out
    :raises roost.exception.Unavailable: when it fails, with the end of its log
    """
    clean = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}
    with log.open("ab") as output:
        done = subprocess.run(
            command,
            env={**clean, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            check=False,
        )
    if done.returncode:
        last = log.read_text(errors="replace").splitlines()[-_LAST_LINES:]
        hint = f" ({advice})" if advice else ""
        raise exception.Unavailable(
            "\n    ".join([f"{' '.join(command[:3])} failed{hint}; the end of {log}:", *last])
        )


if __name__ == "__main__":
    install(pathlib.Path(sys.argv[1]))
