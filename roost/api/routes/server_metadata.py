"""Servers' metadata."""

from typing import Final

from roost.api.policies import server_metadata as policies
from roost.api.route import Route, row
from roost.api.schemas import server_metadata as schemas
from roost.api.server_metadata import ServerMetadata

_ALL: Final = "/v2.1/servers/{server_id}/metadata"
_ONE: Final = f"{_ALL}/{{key}}"
ROUTES: Final[tuple[Route, ...]] = (
    row(f"GET {_ALL}", (ServerMetadata, ServerMetadata.list_all), policies.LIST),
    row(
        f"POST {_ALL}",
        (ServerMetadata, ServerMetadata.merge),
        policies.CREATE,
        body=schemas.CHANGE,
    ),
    row(
        f"PUT {_ALL}",
        (ServerMetadata, ServerMetadata.replace),
        policies.REPLACE,
        body=schemas.CHANGE,
    ),
    row(f"GET {_ONE}", (ServerMetadata, ServerMetadata.show), policies.SHOW),
    row(
        f"PUT {_ONE}",
        (ServerMetadata, ServerMetadata.update),
        policies.UPDATE,
        body=schemas.CHANGE_ONE,
    ),
    row(f"DELETE {_ONE}", (ServerMetadata, ServerMetadata.delete), policies.DELETE, status=204),
)
