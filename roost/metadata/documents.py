"""The documents of one guest, by the paths of requests."""

import functools

from roost.guestdata import About, Tree, ec2, openstack
from roost.guestdata.tree import entries


class Documents:
    """What may be asked for. Paths are only keys: nothing of a file system is behind them."""

    def __init__(self, about: About) -> None:
        self.about = about

    @functools.cached_property
    def _openstack(self) -> Tree:
        return openstack.tree(self.about)

    @functools.cached_property
    def _ec2(self) -> Tree:
        return ec2.tree(self.about)

    def find(self, path: str) -> bytes | None:
        """Return a document, or what a folder has, one entry a line; None: neither is there.

        :param path: without the slashes at its ends
        """
        top = path.partition("/")[0]
        tree = self._openstack if top == openstack.FOLDER else self._ec2
        if path in tree:
            return tree[path]
        listed = self._listed(tree, path)
        return "\n".join(listed).encode() if listed else None

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
