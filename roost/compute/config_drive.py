"""Config drives: the metadata of a guest on a CD image that is attached when it boots.

For guests without a network or metadata service. The drive has what the service serves and the
administrator's password, so only this daemon may read the file.

ISO 9660 allows eight capital letters for a name. So the names there are numbers, and guests see the
names of Rock Ridge (Linux) and Joliet (Windows).
"""

import contextlib
import dataclasses
import io
import itertools
import pathlib
import uuid as uuids
from collections.abc import Iterator
from typing import Final

import pycdlib

from roost.guestdata import About as About_
from roost.guestdata import Operator, Tree, ec2, openstack, vendor_data
from roost.guestdata.about import About
from roost.guestdata.about import Tree as Tree_
from roost.guestdata.vendor_data import Vendors
from roost.objects import Instance, NetworkInfo

_ROCK_RIDGE: Final = "1.09"
_JOLIET: Final = 3


def image(files: Tree, *, label: str) -> bytes:
    """Return an ISO 9660 image with these files."""
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
    """Yield each folder once, after its parent."""
    seen = set()
    for path in files:
        parts = path.split("/")[:-1]
        for depth in range(1, len(parts) + 1):
            folder = "/".join(parts[:depth])
            if folder not in seen:
                seen.add(folder)
                yield folder


def tree(about: About) -> Tree_:
    """Return OpenStack's and EC2's documents, without the password file: drives are read-only."""
    files = openstack.tree(about) | ec2.drive(about)
    return {path: data for path, data in files.items() if not path.endswith("/password")}


LABEL: Final = "config-2"  # the volume label that guests look for
_IMAGE_SAYS: Final = "img_config_drive"
_MANDATORY: Final = "mandatory"


class ConfigDrives:
    """Writes config drives to ``folder``, where the hypervisor reads them.

    :param folder: this host's own, created when first needed
    :param operator: the operator's settings for guest metadata
    :param vendors: the vendor data services to query for each guest
    :param force: every guest gets a drive
    """

    def __init__(
        self,
        *,
        folder: pathlib.Path,
        operator: Operator,
        vendors: Vendors = vendor_data.no_services,
        force: bool = False,
    ) -> None:
        self._folder = folder
        self._operator = operator
        self._vendors = vendors
        self._force = force

    def wanted(self, instance: Instance) -> bool:
        """Return whether the user, the image or the operator requires a drive."""
        properties = instance.image.properties if instance.image else {}
        return bool(
            instance.config_drive or self._force or properties.get(_IMAGE_SAYS) == _MANDATORY
        )

    @contextlib.contextmanager
    def made(self, instance: Instance, network_info: NetworkInfo) -> Iterator[pathlib.Path | None]:
        """Yield the path of an instance's drive and remove the file afterwards; None: no drive.

        :raises roost.exception.Unavailable: when required vendor data cannot be fetched
        """
        if not self.wanted(instance):
            yield None
            return
        about = About_.of(instance, network_info, operator=self._operator, with_secrets=True)
        about = dataclasses.replace(about, vendors=vendor_data.asked(about, self._vendors))
        path = self._folder / f"{uuids.UUID(instance.uuid)}.iso"
        try:
            self._write(path, image(tree(about), label=LABEL))
            yield path
        finally:
            path.unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove drives of a daemon that was killed; no build may be under way."""
        for left in self._folder.glob("*"):
            left.unlink(missing_ok=True)

    def _write(self, path: pathlib.Path, data: bytes) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_bytes(data)
