"""What this machine must have before real guests run on it."""

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from roost import exception

DAEMONS: Final = "/usr/sbin"  # which is not on the PATH of everybody
# program: the package of Debian 12 that it comes with
GUESTS: Final = {
    "libvirtd": "libvirt-daemon-system",
    "virtlogd": "libvirt-daemon-system",
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-img": "qemu-utils",
}
_BINDING = "libvirt"
_INSTALL = "sh tools/packages.sh does that, and sh tools/environment.sh libvirt the binding"


def find_program(name: str) -> str | None:
    """Return the path of a program of the system, if it is installed."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:{DAEMONS}:/sbin")


def check(
    programs: Mapping[str, str] = GUESTS,
    *,
    find: Callable[[str], str | None] = find_program,
    user: int | None = None,
    binding: Callable[[], object] = lambda: importlib.util.find_spec(_BINDING),
) -> None:
    """Make sure that guests can be had.

    :param user: who asks; None: who runs this
    :raises roost.exception.Invalid: naming what is missing, and how to get it
    """
    if (os.geteuid() if user is None else user) != 0:
        raise exception.Invalid(
            "real guests take root, for namespaces, links and disks: run this as root"
        )
    packages = sorted({programs[name] for name in programs if find(name) is None})
    if missing := list(_missing(packages, binding=bool(binding()))):
        raise exception.Invalid(f"real guests take {' and '.join(missing)}; {_INSTALL}")


def _missing(packages: list[str], *, binding: bool) -> Iterator[str]:
    if packages:
        yield f"packages that are not there: as root, apt-get install {' '.join(packages)}"
    if not binding:
        yield "libvirt's binding for Python: pip install 'roost[libvirt]'"
