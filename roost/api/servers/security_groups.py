"""Security groups of a server: listed, added and removed by the network driver.

Their names are also in the server's row, for the API and the metadata service.
"""

from typing import Final

from roost import exception
from roost.api.dependencies import Dependencies
from roost.api.legacy import security_groups
from roost.api.locator import ServerLocator, ServerRef
from roost.api.policy import MEMBER, READER, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.servers.server_action import action
from roost.api.validation import TEXT, of
from roost.cells import Cell
from roost.db.cell import metadata


class ServerSecurityGroups:
    """Handlers of ``/servers/{id}/os-security-groups``, and of the actions that change them."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._locator = ServerLocator(dependencies.api_database, dependencies.cells)
        self._groups = dependencies.networking.groups

    def list_all(self, call: Call) -> Answer:
        instance = self._locator.find(call, call.params["server_id"]).instance
        groups = self._groups.of_server(call, instance)
        return Answer({"security_groups": [security_groups.full(one) for one in groups]})

    def add(self, call: Call, server_ref: ServerRef) -> Answer:
        """Add a group to a server.

        :raises roost.exception.NotFound: when there is no such group
        :raises roost.exception.Conflict: when the server is in no cell yet
        """
        cell = _cell(server_ref)
        self._groups.join(call, server_ref.instance, call.body["addSecurityGroup"]["name"])
        self._notify_host(call, server_ref, cell)
        return Answer()

    def remove(self, call: Call, server_ref: ServerRef) -> Answer:
        """Remove a group from a server.

        :raises roost.exception.NotFound: when the server is not in the group
        :raises roost.exception.Conflict: when it cannot be removed, or the server is in no cell yet
        """
        cell = _cell(server_ref)
        self._groups.leave(call, server_ref.instance, call.body["removeSecurityGroup"]["name"])
        self._notify_host(call, server_ref, cell)
        return Answer()

    def _notify_host(self, call: Call, server_ref: ServerRef, cell: Cell) -> None:
        """Write the groups' names into the server's row, then notify the network driver.

        The names are read again after the write: of concurrent changes, the last one writes the
        final names.
        """
        written, names = None, self._names(call, server_ref)
        while written != names:
            cell.database.write(metadata.save_groups, str(server_ref.instance.uuid), names)
            written, names = names, self._names(call, server_ref)
        self._groups.tell(call, str(server_ref.instance.project_id))

    def _names(self, call: Call, server_ref: ServerRef) -> list[str]:
        return [group.name for group in self._groups.of_server(call, server_ref.instance)]


def _cell(server_ref: ServerRef) -> Cell:
    if server_ref.cell is None:
        raise exception.Conflict(f"Instance {server_ref.instance.uuid} is not ready")
    return server_ref.cell


_FORMERLY: Final = "os_compute_api:os-security-groups"
_GROUP: Final = of({"name": {**TEXT, "minLength": 1}}, required=["name"])

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/servers/{server_id}/os-security-groups",
        (ServerSecurityGroups, ServerSecurityGroups.list_all),
        Rule(
            f"{_FORMERLY}:list",
            READER,
            "List the security groups of a server.",
            formerly=_FORMERLY,
        ),
    ),
)
ACTIONS: Final = (
    action(
        "addSecurityGroup",
        lambda dependencies: ServerSecurityGroups(dependencies).add,
        Rule(f"{_FORMERLY}:add", MEMBER, "Add a security group to a server.", formerly=_FORMERLY),
        _GROUP,
    ),
    action(
        "removeSecurityGroup",
        lambda dependencies: ServerSecurityGroups(dependencies).remove,
        Rule(
            f"{_FORMERLY}:remove",
            MEMBER,
            "Remove a security group from a server.",
            formerly=_FORMERLY,
        ),
        _GROUP,
    ),
)
