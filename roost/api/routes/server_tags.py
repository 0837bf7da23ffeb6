"""Servers' tags."""

from typing import Final

from roost.api.policies import server_tags as policies
from roost.api.route import Route, row
from roost.api.schemas import server_tags as schemas
from roost.api.server_tags import ServerTags

_ALL: Final = "/v2.1/servers/{server_id}/tags"
_ONE: Final = f"{_ALL}/{{tag}}"
ROUTES: Final[tuple[Route, ...]] = (
    row(
        f"GET {_ALL}",
        (ServerTags, ServerTags.list_all),
        policies.LIST,
        since=schemas.TAGGED,
    ),
    row(
        f"PUT {_ALL}",
        (ServerTags, ServerTags.replace),
        policies.REPLACE,
        body=schemas.REPLACE,
        since=schemas.TAGGED,
    ),
    row(
        f"DELETE {_ALL}",
        (ServerTags, ServerTags.delete_all),
        policies.DELETE_ALL,
        status=204,
        since=schemas.TAGGED,
    ),
    row(
        f"GET {_ONE}",
        (ServerTags, ServerTags.show),
        policies.SHOW,
        status=204,
        since=schemas.TAGGED,
    ),
    # all is said by the path; clients send nothing, or null
    row(
        f"PUT {_ONE}",
        (ServerTags, ServerTags.add),
        policies.ADD,
        status=201,
        also=204,
        since=schemas.TAGGED,
    ),
    row(
        f"DELETE {_ONE}",
        (ServerTags, ServerTags.delete),
        policies.DELETE,
        status=204,
        since=schemas.TAGGED,
    ),
)
