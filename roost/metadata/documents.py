"""The documents of one guest, by the paths of requests."""

import dataclasses
import functools

from roost.guestdata import About, Tree, ec2, openstack, vendor_data
from roost.guestdata.about import entries
from roost.guestdata.vendor_data import Vendors


class Documents:
    """What may be asked for. Paths are only keys: nothing of a file system is behind them.

    :param vendors: are asked when the guest wants to know what they say, and once
    """

    def __init__(self, about: About, vendors: Vendors = vendor_data.nobody) -> None:
        self.about = about
        self._vendors = vendors
        self._told: Tree | None = None

    @functools.cached_property
    def _openstack(self) -> Tree:
        return openstack.tree(self.about)

    @functools.cached_property
    def _ec2(self) -> Tree:
        return ec2.tree(self.about)

    def find(self, path: str) -> bytes | None:
        """Return a document, or what a folder has, one entry a line; None: neither is there.

        :param path: without the slashes at its ends
        :raises roost.exception.Unavailable: when vendors must say something, and do not
        """
        top = path.partition("/")[0]
        tree = self._openstack if top == openstack.FOLDER else self._ec2
        if path in tree and path.endswith(f"/{openstack.NAMED_VENDOR_DATA}"):
            return self._told_by_vendors()[path]
        if path in tree:
            return tree[path]
        listed = self._listed(tree, path)
        return "\n".join(listed).encode() if listed else None

    def _told_by_vendors(self) -> Tree:
        """Return OpenStack's documents as they are once vendors were asked.

        Two threads may both ask: that costs less than to let one wait for another's service.
        """
        if self._told is None:
            said = vendor_data.asked(self.about, self._vendors)
            self._told = openstack.tree(dataclasses.replace(self.about, vendors=said))
        return self._told

    def _listed(self, tree: Tree, path: str) -> list[str]:
        if path == openstack.FOLDER:
            return list(openstack.VERSIONS)
        if path.endswith(f"/meta-data/{ec2.KEYS}"):
            return ec2.key_names(self.about) if entries(tree, path) else []
        return entries(tree, path)


def versions() -> bytes:
    """Return what is at the top, for everybody."""
    return "\n".join(ec2.VERSIONS).encode()


def takes_password(path: str) -> bool:
    """Tell whether a guest may tell its password there."""
    return path in {
        f"{openstack.FOLDER}/{version}/{openstack.PASSWORD}"
        for version in openstack.VERSIONS
        if version >= openstack.PASSWORDS
    }
