"""The passwords that guests tell."""

from typing import Final

from roost.api.policies import server_password as policies
from roost.api.route import Route, row
from roost.api.server_password import ServerPassword

_PATH: Final = "/v2.1/servers/{server_id}/os-server-password"

ROUTES: Final[tuple[Route, ...]] = (
    row(f"GET {_PATH}", (ServerPassword, ServerPassword.show), policies.SHOW),
    row(f"DELETE {_PATH}", (ServerPassword, ServerPassword.clear), policies.CLEAR, status=204),
)
