"""Images in the words of Compute before 2.36; their metadata before 2.39."""

from typing import Any, Final

from roost.api.image_proxies import ImageProxies, ImageProxyMetadata
from roost.api.policies import images as policies
from roost.api.route import Route, row
from roost.api.schemas import server_metadata as schemas
from roost.api.schemas.image_proxies import LIST_QUERY as _LIST

_LAST: Final = 35  # since 2.36 clients ask the image service
_LAST_METADATA: Final = 38
_IMAGES: Final = "/v2.1/images"
_IMAGE: Final = f"{_IMAGES}/{{image_id}}"
_METADATA: Final = f"{_IMAGE}/metadata"
_ITEM: Final = f"{_METADATA}/{{key}}"


def _image(operation: str, handler: Any, policy: str, **more: Any) -> Route:
    return row(operation, (ImageProxies, handler), policy, until=_LAST, **more)


def _metadata(operation: str, handler: Any, policy: str, **more: Any) -> Route:
    return row(operation, (ImageProxyMetadata, handler), policy, until=_LAST_METADATA, **more)


_OF_METADATA: Final = ImageProxyMetadata
ROUTES: Final[tuple[Route, ...]] = (
    _image(f"GET {_IMAGES}", ImageProxies.list_brief, policies.LIST, query=_LIST),
    _image(f"GET {_IMAGES}/detail", ImageProxies.list_detail, policies.LIST, query=_LIST),
    _image(f"GET {_IMAGE}", ImageProxies.show, policies.SHOW),
    _image(f"DELETE {_IMAGE}", ImageProxies.delete, policies.DELETE, status=204),
    _metadata(f"GET {_METADATA}", _OF_METADATA.list_all, policies.SHOW),
    _metadata(f"POST {_METADATA}", _OF_METADATA.merge, policies.UPDATE, body=schemas.CHANGE),
    _metadata(f"PUT {_METADATA}", _OF_METADATA.replace, policies.UPDATE, body=schemas.CHANGE),
    _metadata(f"GET {_ITEM}", _OF_METADATA.show, policies.SHOW),
    _metadata(f"PUT {_ITEM}", _OF_METADATA.update, policies.UPDATE, body=schemas.CHANGE_ONE),
    _metadata(f"DELETE {_ITEM}", _OF_METADATA.delete, policies.UPDATE, status=204),
)
