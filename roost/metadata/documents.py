"""The documents of one guest, by the paths of requests."""

import dataclasses
import functools

from roost.guestdata import About, Tree, ec2, openstack, vendor_data
from roost.guestdata.about import entries
from roost.guestdata.vendor_data import Vendors


class Documents:
    """The documents of a guest. Paths are only keys, not files.

    :param vendors: requests vendor data; called once, when the guest reads it
    """

    def __init__(self, about: About, vendors: Vendors = vendor_data.no_services) -> None:
        self.about = about
        self._vendors = vendors
        self._with_vendors: Tree | None = None

    @functools.cached_property
    def _openstack(self) -> Tree:
        return openstack.tree(self.about)

    @functools.cached_property
    def _ec2(self) -> Tree:
        return ec2.tree(self.about)

    def find(self, path: str) -> bytes | None:
        """Return a document, or the entries of a folder, one per line; None: there is neither.

        :param path: without the slashes at its ends
        :raises roost.exception.Unavailable: when a required vendor data service does not answer
        """
        top = path.partition("/")[0]
        tree = self._openstack if top == openstack.FOLDER else self._ec2
        if path in tree and path.endswith(f"/{openstack.NAMED_VENDOR_DATA}"):
            return self._vendor_documents()[path]
        if path in tree:
            return tree[path]
        listed = self._listed(tree, path)
        return "\n".join(listed).encode() if listed else None

    def _vendor_documents(self) -> Tree:
        """Return OpenStack's documents with the answers of vendor data services.

        Two threads may both send requests: that costs less than making one wait for the other.
        """
        if self._with_vendors is None:
            said = vendor_data.asked(self.about, self._vendors)
            self._with_vendors = openstack.tree(dataclasses.replace(self.about, vendors=said))
        return self._with_vendors

    def _listed(self, tree: Tree, path: str) -> list[str]:
        if path == openstack.FOLDER:
            return list(openstack.VERSIONS)
        if path.endswith(f"/meta-data/{ec2.KEYS}"):
            return ec2.key_names(self.about) if entries(tree, path) else []
        return entries(tree, path)


def versions() -> bytes:
    """Return the top folder, which is the same for all guests."""
    return "\n".join(ec2.VERSIONS).encode()


def takes_password(path: str) -> bool:
    """Return whether a guest may post its password to a path."""
    return path in {
        f"{openstack.FOLDER}/{version}/{openstack.PASSWORD}"
        for version in openstack.VERSIONS
        if version >= openstack.PASSWORDS
    }
