"""The pages that show screens of guests in browsers, of Debian's packages novnc and spice-html5."""

import dataclasses
import fcntl
import pathlib
import shutil
import subprocess

_PACKAGES = ("novnc", "spice-html5")


@dataclasses.dataclass(frozen=True)
class Pages:
    """Folders, as ``[console_proxy] web`` and ``spice_web`` want them."""

    web: pathlib.Path
    spice_web: pathlib.Path


def made(folder: pathlib.Path) -> Pages:
    """Return the pages, fetched into ``folder`` if they are not there; nothing is installed."""
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    root = folder / "files"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not root.exists():
            _fetch(folder / "work", root)
    return Pages(root / "usr/share/novnc", root / "usr/share/spice-html5")


def _fetch(work: pathlib.Path, root: pathlib.Path) -> None:
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    if _run("apt-cache", "show", *_PACKAGES, cwd=work, check=False):
        _run("apt-get", "update", "-qq", cwd=work)
    _run("apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", *_PACKAGES, cwd=work)
    for archive in work.glob("*.deb"):
        _run("dpkg-deb", "-x", archive, work / "files", cwd=work)
    (work / "files").rename(root)
    shutil.rmtree(work)


def _run(*command: object, cwd: pathlib.Path, check: bool = True) -> int:
    """Run a program, and return how it ended."""
    done = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True)
    if check and done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr or done.stdout}")
    return done.returncode
