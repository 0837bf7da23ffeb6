"""All metadata of one guest; and trees, the files (by path) of its documents."""

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
    """List a folder, in order; names of folders end in a slash. Empty: no such folder.

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
    """A file that the user injects into the guest."""

    path: str
    contents: bytes


@dataclasses.dataclass(frozen=True)
class Operator:
    """The operator's data for all guests.

    :param domain: of their host names; empty: none
    :param vendor_data: the static vendor data; None: left out of the named vendor data, too
    """

    domain: str = ""
    vendor_data: Mapping[str, Any] | None = dataclasses.field(default_factory=dict)


_NO_OPERATOR_DATA: Final = Operator()


@dataclasses.dataclass(frozen=True)
class About:
    """One guest: its instance, and what only it may know.

    :param network_info: its interfaces; the instance lacks them while it is being built
    :param disk_tags: the user's tags of its disks
    :param admin_password: to be set at its first boot; only config drives contain it
    :param password: the password that the guest posted, encrypted
    :param boot_roles: the roles of the user who created it
    :param vendors: the answers of the operator's vendor data services, by service name
    :param seed: random bytes, for a guest that has no better source when it boots
    """

    instance: Instance
    network_info: NetworkInfo
    operator: Operator = _NO_OPERATOR_DATA
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
        """Collect the stored data of an instance, with a fresh seed.

        :param with_secrets: include the administrator's password, as long as it is known
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
        """The host name of the guest with the operator's domain, unless it has a domain."""
        name, domain = str(self.instance.hostname), self.operator.domain
        return f"{name}.{domain}" if domain and "." not in name else name

    @property
    def vifs(self) -> list[Vif]:
        return list(self.network_info.vifs)

    @property
    def user_data(self) -> bytes | None:
        """The user data of the guest; None: none."""
        text = self.instance.user_data
        return base64.b64decode(text) if text else None
