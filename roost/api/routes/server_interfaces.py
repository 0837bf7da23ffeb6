"""The interfaces of a server."""

from typing import Final

from roost.api.policies import server_interfaces as policies
from roost.api.route import Route, row
from roost.api.schemas import server_interfaces as schemas
from roost.api.server_interfaces import ServerInterfaces

_ALL: Final = "/v2.1/servers/{server_id}/os-interface"
_ONE: Final = f"{_ALL}/{{port_id}}"

ROUTES: Final[tuple[Route, ...]] = (
    row(f"GET {_ALL}", (ServerInterfaces, ServerInterfaces.list_all), policies.LIST),
    row(
        f"POST {_ALL}",
        (ServerInterfaces, ServerInterfaces.attach),
        policies.CREATE,
        body=schemas.ATTACH,
    ),
    row(f"GET {_ONE}", (ServerInterfaces, ServerInterfaces.show), policies.SHOW),
    row(f"DELETE {_ONE}", (ServerInterfaces, ServerInterfaces.detach), policies.DELETE, status=202),
)
