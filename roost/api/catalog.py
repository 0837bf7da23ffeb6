"""Where a caller's catalog says that other services are."""

from typing import Final

from roost.api.call import Call
from roost.context import RequestContext
from roost.image.driver import ImageStore, OutsideImageStore

_PUBLIC: Final = "public"


def images_root(call: Call, store: ImageStore) -> str:
    """Return where images are: what the caller's catalog says, if another service has them."""
    if isinstance(store, OutsideImageStore):
        found = endpoint(call.context, "image")
        if found is not None:
            return f"{found.rstrip('/').removesuffix('/v2')}/v2"
    return f"{call.base_url}/image/v2"


def endpoint(context: RequestContext, kind: str) -> str | None:
    """Return the address by which users reach a service; None: the catalog does not know it."""
    for service in context.service_catalog or ():
        if service.get("type") == kind:
            for one in service.get("endpoints", ()):
                if one.get("interface") == _PUBLIC and one.get("url"):
                    return str(one["url"])
    return None
