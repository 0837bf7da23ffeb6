"""What was done to a server."""

from typing import Final

from roost.api.instance_actions import InstanceActions
from roost.api.policies import instance_actions as policies
from roost.api.route import Route, row
from roost.api.schemas import instance_actions as schemas

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/servers/{server_id}/os-instance-actions",
        (InstanceActions, InstanceActions.list_brief),
        policies.LIST,
        query=schemas.LIST_QUERY,
    ),
    row(
        "GET /v2.1/servers/{server_id}/os-instance-actions/{request_id}",
        (InstanceActions, InstanceActions.show),
        policies.SHOW,
    ),
)
