"""Other services: whether a deployment has Glance and Neutron, and their addresses.

Where it has them, the paths of their stand-ins refuse every request, so that no client takes a
stand-in for the service. A caller's service catalog, which comes with the token, has the addresses.
"""

from typing import Final

from roost.api.dependencies import Dependencies
from roost.api.request import Call
from roost.context import RequestContext
from roost.image.driver import ImageStore, OutsideImageStore

_IMAGES: Final = ("/image",)
_NETWORKS: Final = ("/network",)
_IMAGE: Final = "This cloud has an image service of its own: the catalog says where."
_NETWORK: Final = "This cloud has a network service of its own: the catalog says where."


def roots(dependencies: Dependencies) -> frozenset[str]:
    """Return the prefixes of the paths that this deployment does not serve."""
    images = _IMAGES if isinstance(dependencies.images, OutsideImageStore) else ()
    networks = _NETWORKS if dependencies.networking.external else ()
    return frozenset([*images, *networks])


def message(path: str, elsewhere: frozenset[str]) -> str | None:
    """Return the error message of a path that is not served here; None: it is served.

    :param path: of a route
    :param elsewhere: the result of :func:`roots`
    """
    for root in elsewhere:
        if path == root or path.startswith(f"{root}/"):
            return _IMAGE if root in _IMAGES else _NETWORK
    return None


_PUBLIC: Final = "public"


def images_root(call: Call, store: ImageStore) -> str:
    """Return the URL of images: from the caller's catalog, if another service has them."""
    if isinstance(store, OutsideImageStore):
        found = endpoint(call.context, "image")
        if found is not None:
            return f"{found.rstrip('/').removesuffix('/v2')}/v2"
    return f"{call.base_url}/image/v2"


def endpoint(context: RequestContext, kind: str) -> str | None:
    """Return the public URL of a service; None: the catalog does not have it."""
    for service in context.service_catalog or ():
        if service.get("type") == kind:
            for one in service.get("endpoints", ()):
                if one.get("interface") == _PUBLIC and one.get("url"):
                    return str(one["url"])
    return None
