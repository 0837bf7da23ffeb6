"""Where a caller's catalog says that other services are."""

from typing import Final

from roost.context import RequestContext

_PUBLIC: Final = "public"


def endpoint(context: RequestContext, kind: str) -> str | None:
    """Return the address by which users reach a service; None: the catalog does not know it."""
    for service in context.service_catalog or ():
        if service.get("type") == kind:
            for one in service.get("endpoints", ()):
                if one.get("interface") == _PUBLIC and one.get("url"):
                    return str(one["url"])
    return None
