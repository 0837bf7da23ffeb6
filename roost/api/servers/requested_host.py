"""The host and the node that an administrator names, for a new server or for a move."""

import contextlib

from roost import exception
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerRef
from roost.api.request import Call
from roost.cells import Cell
from roost.db.cell import services


def check_host(dependencies: Dependencies, host: str, *, cell: Cell | None = None) -> None:
    """Make sure that a host exists, and is not forced down as far as its cell can be read.

    :param cell: the host must be there; None: it may be in any
    :raises roost.exception.Invalid: saying which it is
    """
    try:
        there = dependencies.cells.search(host)
    except exception.NotFound as error:
        raise _unknown(host) from error
    if cell is not None and there.uuid != cell.uuid:
        raise _unknown(host)
    with contextlib.suppress(exception.Unavailable):
        if there.database.query(services.is_forced_down, host):
            raise exception.Invalid(f"Compute host {host} is forced down.")


def check_destination(
    dependencies: Dependencies, server_ref: ServerRef, host: str | None, *, if_same: str
) -> None:
    """Make sure that a server may move to a host, if its request names one.

    :param if_same: what is said of the host that the server is on
    :raises roost.exception.Invalid: when it may not
    """
    if host is None:
        return
    if host == server_ref.instance.host:
        raise exception.Invalid(if_same)
    check_host(dependencies, host, cell=server_ref.cell)


def check_node(dependencies: Dependencies, call: Call, host: str, node: str) -> None:
    """Make sure that a node exists, on the given host if any, unless no scheduler answers.

    :raises roost.exception.Invalid: when it does not, or its only host is forced down
    """
    scheduler = dependencies.scheduler
    with contextlib.suppress(exception.Unavailable):
        known = (
            scheduler.list_hosts(call.context, host=host)
            if host
            else scheduler.all_hosts(call.context)
        )
        hosts = {report.host for report in known if report.node == node}
        if not hosts:
            raise exception.Invalid(f"Compute node {node} could not be found.")
        if not host and len(hosts) == 1:
            check_host(dependencies, hosts.pop())


def _unknown(host: str) -> exception.Invalid:
    return exception.Invalid(f"Compute host {host} could not be found.")
