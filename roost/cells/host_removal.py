"""The end of a host, as far as databases go; whoever removes one tells the schedulers first.

Once the schedulers have forgotten a host, which they refuse while it holds claims, nothing new
comes to it. Each step may be repeated; one that finds nothing does nothing.
"""

from roost import exception
from roost.cells.cell import Cell
from roost.db.api import aggregates, cells
from roost.db.cell import instances, services
from roost.db.engine import Database, retried
from roost.objects import Aggregate


def refuse_while_in_use(database: Database, host: str) -> None:
    """Make sure that no instance belongs on a host.

    :param database: that of its cell
    :raises roost.exception.Conflict: when one does
    """
    with database.read() as session:
        used = instances.hosts_in_use(session, [host])
    if used:
        raise exception.Conflict(f"the host {host} still has instances: delete them first")


@retried
def forget_services(cell: Cell, host: str, *, binary: str) -> bool:
    """Take the services of this name on a host away; tell whether there were any."""
    with cell.database.begin() as session:
        found = services.list_services(session, hosts=[host], binary=binary)
        for service in found:
            services.delete(session, service.uuid)
    return bool(found)


@retried
def leave_api_level(database: Database, host: str) -> tuple[list[Aggregate], bool]:
    """Take the host out of its aggregates, and its mapping away: both or none.

    :returns: the aggregates as they are now, and whether the host was mapped
    """
    with database.begin() as session:
        homes = [one for one in aggregates.list_all(session) if host in one.hosts]
        left = [aggregates.remove_host(session, one.id, host).aggregate for one in homes]
        return left, cells.unmap_host(session, host)
