"""All that may be told to one guest; and trees, the files by their path that it is told in."""

import base64
import dataclasses
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Self

from roost.objects import GuestConfig, Instance, NetworkInfo, Vif

Tree = dict[str, bytes]


def below(folder: str, files: Tree) -> Tree:
    """Return the same files in a folder."""
    return {f"{folder}/{path}": data for path, data in files.items()}


def entries(paths: Iterable[str], folder: str) -> list[str]:
    """Return what a folder has, in order; names of folders end in a slash. Empty: no such folder.

    :param folder: without slashes at its ends; empty: the top
    """
    prefix = f"{folder}/" if folder else ""
    rests = (path.removeprefix(prefix) for path in paths if path.startswith(prefix))
    return list(dict.fromkeys(_first(rest) for rest in rests))


def _first(path: str) -> str:
    name, slash, _ = path.partition("/")
    return name + slash


SEED_BYTES: Final = 512


@dataclasses.dataclass(frozen=True)
class GuestFile:
    """A file that the user wants the guest to have."""

    path: str
    contents: bytes


@dataclasses.dataclass(frozen=True)
class Operator:
    """What an operator has to say to all guests.

    :param domain: what their host names end in; empty: nothing
    :param vendor_data: what they are told as vendor data; None: not even that there is nothing
    """

    domain: str = ""
    vendor_data: Mapping[str, Any] | None = dataclasses.field(default_factory=dict)


_SAYS_NOTHING: Final = Operator()


@dataclasses.dataclass(frozen=True)
class About:
    """One guest: its instance, and what only it may know.

    :param network_info: its interfaces; while it is built its instance does not have them yet
    :param disk_tags: names that the user has given to its disks
    :param admin_password: to be set at its first boot; only a config drive tells it
    :param password: what the guest has told of itself, encrypted
    :param boot_roles: those that the user had who created it
    :param vendors: what services of the operator say to it, by their names
    :param seed: random bytes, for a guest that has no better source when it boots
    """

    instance: Instance
    network_info: NetworkInfo
    operator: Operator = _SAYS_NOTHING
    files: Sequence[GuestFile] = ()
    disk_tags: Sequence[str] = ()
    admin_password: str | None = None
    password: str = ""
    boot_roles: Sequence[str] = ()
    vendors: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    seed: bytes = b""

    @classmethod
    def of(
        cls,
        instance: Instance,
        network_info: NetworkInfo | None,
        *,
        operator: Operator,
        with_secrets: bool = False,
        password: str = "",
    ) -> Self:
        """Take what is written down of an instance, and a fresh seed.

        :param with_secrets: tell the administrator's password, as long as it is known
        """
        given = instance.provisions or GuestConfig.of()
        return cls(
            instance=instance,
            network_info=network_info or NetworkInfo.of(vifs=[]),
            operator=operator,
            files=[GuestFile(each.path, base64.b64decode(each.contents)) for each in given.files],
            disk_tags=[disk.tag for disk in given.block_devices if disk.tag],
            admin_password=given.admin_password if with_secrets else None,
            password=password,
            boot_roles=list(given.boot_roles),
            seed=os.urandom(SEED_BYTES),
        )

    @property
    def hostname(self) -> str:
        """The name of the guest with its domain; a name that has one keeps it."""
        name, domain = str(self.instance.hostname), self.operator.domain
        return f"{name}.{domain}" if domain and "." not in name else name

    @property
    def vifs(self) -> list[Vif]:
        return list(self.network_info.vifs)

    @property
    def user_data(self) -> bytes | None:
        """What the user wrote for the guest; None: nothing."""
        text = self.instance.user_data
        return base64.b64decode(text) if text else None
