"""The way to the host of a server, for those who wait for its answer."""

from roost import exception
from roost.api.daemons import Daemons
from roost.api.parts import Parts
from roost.api.views.services import COMPUTE
from roost.api.whereabouts import Located
from roost.cells import Cell
from roost.db.cell import services as rows
from roost.rpc.compute import Compute


class ServerHosts:
    """Looks whether a host is up, before anybody waits for it."""

    def __init__(self, parts: Parts) -> None:
        self._daemons = Daemons(parts)

    def of(self, located: Located) -> Compute:
        """Return the way to the host of a server.

        :raises roost.exception.Conflict: when the server is on no host, or its host is down
        """
        instance, cell = located.instance, located.cell
        if cell is None or instance.host is None:
            raise exception.Conflict(f"Instance {instance.uuid} is not ready")
        if self._is_down(cell, str(instance.host)):
            raise exception.Conflict(
                f"The host of instance {instance.uuid} is down. Please try again later."
            )
        return cell.compute.on(str(instance.host))

    def _is_down(self, cell: Cell, host: str) -> bool:
        """Tell whether a host is known not to be up; of one that is not known nothing is said."""
        with cell.database.read() as session:
            roll = rows.call_roll(session, hosts=[host], binary=COMPUTE)
        seen = self._daemons.see(cell, roll)
        return bool(seen) and not any(one.up for one in seen)
