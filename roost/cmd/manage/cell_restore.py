"""``roost-manage cell after-restore``: a database that was put back, compared and repaired."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

import click

from roost import exception, states
from roost.audit import restore
from roost.audit.restore import ApiRecord
from roost.cells import Cell
from roost.cmd.manage.cell_hosts import COMPUTE
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_rows, warn
from roost.context import admin_context
from roost.db.api import build_requests, cells, instance_mappings, soft_delete
from roost.db.cell import audits as in_cell
from roost.db.cell import instances, services
from roost.db.spans import UuidRange

_COLUMNS: Final = ("cell", "server", "host", "what", "why", "done")
_AT_ONCE: Final = 1000


@click.command("after-restore")
@click.argument("name", metavar="[NAME|UUID]", required=False)
@click.option("--repair", is_flag=True, help="Put right what is found.")
@json_option
@click.pass_context
@pass_deployment
def after_restore(
    deployment: Deployment,
    context: click.Context,
    *,
    name: str | None,
    repair: bool,
    as_json: bool,
) -> None:
    """Compare cells whose database was put back with their hosts and with the API level.

    Run it while the hosts are up and before the conductors of the cell are started: they would let
    hosts stop guests whose rows say so. Without --repair it only shows what would be done.
    Afterwards start the conductors, and run roost-manage audit --repair for claims, ports, mappings
    and quota; roost-manage cell held-tasks shows which tasks still wait. Exits with 1 when anything
    is left.
    """
    rows: list[dict[str, Any]] = []
    for cell in deployment.named_cells(name):
        rows += _rows_of(deployment, cell, repair=repair)
    show_rows(rows, _COLUMNS, as_json=as_json)
    if any(not row["done"] for row in rows):
        context.exit(1)


def _rows_of(deployment: Deployment, cell: Cell, *, repair: bool) -> list[dict[str, Any]]:
    rows, buried = [], []
    for each in _differences(deployment, cell):
        done = repair and restore.repair(cell, each)
        if done and each.action == restore.BURY and each.uuid is not None:
            buried.append(each.uuid)
        values = (cell.name, each.uuid, each.host, each.action, each.why, done)
        rows.append(dict(zip(_COLUMNS, values, strict=True)))
    _release(deployment, buried)
    return rows


def _release(deployment: Deployment, buried: Sequence[str]) -> None:
    """Let go of claims; while the schedulers are down, too, that is left to audits."""
    try:
        for some in _batched(buried):
            deployment.answering_scheduler.release_claims(
                admin_context(), instance_uuids=list(some)
            )
    except exception.Unavailable as error:
        warn(f"claims of buried rows are left to roost-manage audit --repair: {error.message}")


def _differences(deployment: Deployment, cell: Cell) -> list[restore.RestoreDifference]:
    hosts = _hosts(deployment, cell)
    guests, states_told = _ask(cell, hosts)
    with cell.database.read() as session:
        rows = in_cell.list_live(session, UuidRange())
        known_states = services.states_of(session, binary=COMPUTE)
    live = {row.uuid for row in rows}
    rowless = sorted(restore.announced(guests).keys() - live)
    buried = {uuid for some in _batched(rowless) for uuid in _known(cell, some)}
    away = [row.uuid for row in rows if row.vm_state == states.SOFT_DELETED]
    found = restore.compare(
        rows,
        guests,
        mapped=_mapped(deployment, sorted(live)),
        silent=hosts - guests.keys(),
        buried=buried,
        asked=_asked(deployment, cell, [uuid for uuid in rowless if uuid not in buried]),
        back=_back(deployment, away),
    )
    return [*restore.strangers(known_states, states_told), *found]


def _ask(cell: Cell, hosts: Collection[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return, of each host that answers, its guests, and which daemon it is.

    One whose answer cannot be read is as one that does not answer.
    """
    guests, told = {}, {}
    for host in sorted(hosts):
        asked = cell.compute.on(host)
        try:
            its = asked.describe_guests(admin_context())
            state = asked.describe_state(admin_context())
            restore.check_told(its, state)
        except exception.RoostError as error:
            warn(f"host {host}: {error.message}")
        else:
            guests[host], told[host] = its, state
    return guests, told


def _known(cell: Cell, uuids: Sequence[str]) -> set[str]:
    with cell.database.read() as session:
        return instances.list_known(session, uuids)


def _asked(deployment: Deployment, cell: Cell, uuids: Sequence[str]) -> dict[str, ApiRecord]:
    """Return what the API level knows of servers of this cell.

    Also of those that it has placed nowhere: it is older than their placing, but knows the request.
    """
    asked = {}
    for some in _batched(uuids):
        with deployment.api_database.read() as session:
            mappings = instance_mappings.list_named(session, some)
            locked = instance_mappings.list_locked(session, some)
            requests = {str(mapping.request_uuid) for mapping in mappings}
            specs = build_requests.list_specs(session, requests)
        for mapping in mappings:
            uuid, spec = str(mapping.instance_uuid), specs.get(str(mapping.request_uuid))
            if mapping.cell_uuid in (cell.uuid, None) and spec is not None:
                asked[uuid] = ApiRecord(mapping, spec, uuid in locked)
    return asked


def _back(deployment: Deployment, uuids: Sequence[str]) -> dict[str, soft_delete.TakenBack]:
    found: dict[str, soft_delete.TakenBack] = {}
    for some in _batched(uuids):
        with deployment.api_database.read() as session:
            found |= soft_delete.taken_back(session, some)
    return found


def _hosts(deployment: Deployment, cell: Cell) -> set[str]:
    """Return the hosts that the cell knows, and those that were mapped to it since."""
    if cell.is_cell0:
        return set()
    with deployment.checked(cell).read() as session:
        known = {one.host for one in services.list_services(session, binary=COMPUTE)}
    with deployment.api_database.read() as session:
        return known | {one.host for one in cells.list_hosts(session, cell.uuid)}


def _mapped(deployment: Deployment, uuids: Sequence[str]) -> set[str]:
    """Return those of these instances that somebody has."""
    found: set[str] = set()
    for some in _batched(uuids):
        with deployment.api_database.read() as session:
            found |= {*instance_mappings.cells_of(session, some)}
    return found


def _batched(uuids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(uuids), _AT_ONCE):
        yield uuids[start : start + _AT_ONCE]
