"""Writes ISO 9660: a CD in one piece of bytes.

Plain ISO 9660 has eight capital letters for a name. So names are numbers there, and what guests see
are those of Rock Ridge (Linux) and Joliet (Windows).
"""

import io
import itertools
from collections.abc import Iterator
from typing import Final

import pycdlib

from roost.guestdata import Tree

_ROCK_RIDGE: Final = "1.09"
_JOLIET: Final = 3


def image(files: Tree, *, label: str) -> bytes:
    """Return a CD with these files."""
    disc = pycdlib.PyCdlib()
    disc.new(interchange_level=3, joliet=_JOLIET, rock_ridge=_ROCK_RIDGE, vol_ident=label)
    try:
        _fill(disc, files)
        whole = io.BytesIO()
        disc.write_fp(whole)
        return whole.getvalue()
    finally:
        disc.close()


def _fill(disc: pycdlib.PyCdlib, files: Tree) -> None:
    numbers = itertools.count()
    plain = {"": ""}
    for folder in _folders(files):
        parent, _, name = folder.rpartition("/")
        plain[folder] = f"{plain[parent]}/D{next(numbers)}"
        disc.add_directory(plain[folder], rr_name=name, joliet_path=f"/{folder}")
    for path, data in files.items():
        folder, _, name = path.rpartition("/")
        number = f"{plain[folder]}/F{next(numbers)}.;1"
        disc.add_fp(io.BytesIO(data), len(data), number, rr_name=name, joliet_path=f"/{path}")


def _folders(files: Tree) -> Iterator[str]:
    """Yield each folder once, after the one that it is in."""
    seen = set()
    for path in files:
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            folder = "/".join(parts[:depth])
            if folder not in seen:
                seen.add(folder)
                yield folder
