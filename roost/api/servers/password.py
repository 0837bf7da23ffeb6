"""The encrypted password that a guest has reported; only the owner's private key decrypts it."""

from typing import Final

from roost import exception
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerLocator
from roost.api.policy import MEMBER, READER, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.db.cell import guest_config

_FORMER = "os_compute_api:os-server-password"


class ServerPassword:
    """Handlers of ``/servers/{id}/os-server-password``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._locator = ServerLocator(dependencies.api_database, dependencies.cells)

    def show(self, call: Call) -> Answer:
        """Show the password; empty: the guest has reported none, or it was cleared."""
        server_ref = self._locator.find(call, call.params["server_id"])
        if server_ref.cell is None:
            return Answer({"password": ""})
        return Answer(
            {
                "password": server_ref.cell.database.query(
                    guest_config.read_password, server_ref.instance.uuid
                )
            }
        )

    def clear(self, call: Call) -> Answer:
        """Clear the stored password; the guest's own does not change.

        :raises roost.exception.Conflict: while the server has no cell
        """
        server_ref = self._locator.find(call, call.params["server_id"])
        if server_ref.cell is None:
            raise exception.Conflict(f"Instance {server_ref.instance.uuid} is not ready")
        server_ref.cell.database.write(
            guest_config.save_password, str(server_ref.instance.uuid), ""
        )
        return Answer()


_PATH: Final = "/v2.1/servers/{server_id}/os-server-password"

ROUTES: Final[tuple[Route, ...]] = (
    row(
        f"GET {_PATH}",
        (ServerPassword, ServerPassword.show),
        Rule(
            "os_compute_api:os-server-password:show",
            READER,
            "Read the encrypted password that a guest has reported.",
            formerly=_FORMER,
        ),
    ),
    row(
        f"DELETE {_PATH}",
        (ServerPassword, ServerPassword.clear),
        Rule(
            "os_compute_api:os-server-password:clear",
            MEMBER,
            "Clear that password.",
            formerly=_FORMER,
        ),
        status=204,
    ),
)
