"""Config drives: what a guest is told of itself, on a CD that it finds when it boots.

For guests that have no network yet, or no metadata service. It tells what the service tells and the
administrator's password besides, so nobody but this daemon may read it.
"""

import contextlib
import dataclasses
import pathlib
import uuid as uuids
from collections.abc import Iterator
from typing import Final

from roost.compute import iso
from roost.guestdata import About, Operator, config_drive, vendor_data
from roost.guestdata.vendor_data import Vendors
from roost.objects import Instance, NetworkInfo

LABEL: Final = "config-2"  # by which guests look for it
_IMAGE_SAYS: Final = "img_config_drive"
_MANDATORY: Final = "mandatory"


class ConfigDrives:
    """Makes drives in ``folder``, from where the hypervisor takes them.

    :param folder: this host's own, made when first needed
    :param operator: what the guests are told by the operator
    :param vendors: the services that have something to say to each
    :param force: every guest gets one
    """

    def __init__(
        self,
        *,
        folder: pathlib.Path,
        operator: Operator,
        vendors: Vendors = vendor_data.nobody,
        force: bool = False,
    ) -> None:
        self._folder = folder
        self._operator = operator
        self._vendors = vendors
        self._force = force

    def wanted(self, instance: Instance) -> bool:
        """Tell whether the user, the image or the operator wants one."""
        properties = instance.image.properties if instance.image else {}
        return bool(
            instance.config_drive or self._force or properties.get(_IMAGE_SAYS) == _MANDATORY
        )

    @contextlib.contextmanager
    def made(self, instance: Instance, network_info: NetworkInfo) -> Iterator[pathlib.Path | None]:
        """Have the drive of an instance there for the hypervisor to take; None: it gets none.

        :raises roost.exception.Unavailable: when vendors must say something, and do not
        """
        if not self.wanted(instance):
            yield None
            return
        about = About.of(instance, network_info, operator=self._operator, with_secrets=True)
        about = dataclasses.replace(about, vendors=vendor_data.asked(about, self._vendors))
        path = self._folder / f"{uuids.UUID(instance.uuid)}.iso"
        try:
            self._write(path, iso.image(config_drive.tree(about), label=LABEL))
            yield path
        finally:
            path.unlink(missing_ok=True)

    def clear(self) -> None:
        """Remove what a daemon left that was killed; no build may be under way."""
        for left in self._folder.glob("*"):
            left.unlink(missing_ok=True)

    def _write(self, path: pathlib.Path, data: bytes) -> None:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.write_bytes(data)
