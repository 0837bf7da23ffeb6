"""What other services serve where a deployment has them: Glance its images, Neutron its networks.

Then the API of ours that stands in for them is not there: nobody is to take a part for the whole.
"""

from typing import Final

from roost.api.networking.local import LocalNetworking
from roost.api.parts import Parts
from roost.image.driver import OutsideImageStore

_IMAGES: Final = ("/image",)
_NETWORKS: Final = ("/network",)
_IMAGE: Final = "This cloud has an image service of its own: the catalog says where."
_NETWORK: Final = "This cloud has a network service of its own: the catalog says where."


def roots(parts: Parts) -> frozenset[str]:
    """Return where the paths begin that are not served here, as parts are put together."""
    images = _IMAGES if isinstance(parts.images, OutsideImageStore) else ()
    networks = () if isinstance(parts.networking, LocalNetworking) else _NETWORKS
    return frozenset([*images, *networks])


def message(path: str, elsewhere: frozenset[str]) -> str | None:
    """Return what callers of a path are told that is not served here; None: it is.

    :param path: of a route
    :param elsewhere: as :func:`roots` has it
    """
    for root in elsewhere:
        if path == root or path.startswith(f"{root}/"):
            return _IMAGE if root in _IMAGES else _NETWORK
    return None
