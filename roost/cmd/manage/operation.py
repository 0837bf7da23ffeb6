"""``roost-manage operation``: what is being done to servers, and what each operation waits for."""

import dataclasses
import datetime
import uuid as uuids
from collections.abc import Mapping
from typing import Any, Final

import click

from roost import exception
from roost.cells import Cell
from roost.cmd.manage.cell_hosts import COMPUTE
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_one, show_rows, warn
from roost.db.cell import operation_reports, services
from roost.db.cell.left_behind import OLD_COPY
from roost.db.cell.operation_reports import OperationReport
from roost.objects import InstanceAction, InstanceActionEvent, Service

_COLUMNS: Final = (
    *("operation", "server", "cell", "kind", "step", "host", "tries", "since"),
    "waits_for",
)
_EVENT: Final = ("time", "seconds", "host", "event", "result", "details")
_CONDUCTOR: Final = "roost-cell-conductor"


@click.group()
def operation() -> None:
    """Show what is being done to servers, and what it waits for."""


@dataclasses.dataclass(frozen=True)
class CellDaemons:
    """The daemons of a cell, as one look at its database has found them."""

    cell: str
    now: datetime.datetime
    hosts: Mapping[str, Service]
    up: frozenset[str]
    has_conductor: bool

    def awaited_by(self, report: OperationReport) -> str:
        """Return what an operation that is not over waits for."""
        if report.unconfirmed:
            return "its user, who confirms or reverts it"
        if not self.has_conductor:
            return f"the cell-conductors of {self.cell}: none is up"
        if not report.host:
            return "a cell-conductor, which finds a host for it"
        return self._down(report.host) or self._lease(report.host, report.lease_until)

    def _down(self, host: str) -> str | None:
        service = self.hosts.get(host)
        if service is None:
            return f"its host {host}: no {COMPUTE} of this name has reported to {self.cell}"
        if service.forced_down:
            return f"its host {host}, which is forced down"
        if service.uuid not in self.up:
            return f"its host {host}, which is down: seen last {_ago(self.now, service)}"
        return None

    def _lease(self, host: str, until: datetime.datetime | None) -> str:
        if until is None:
            return f"its host {host}, which has not begun it"
        seconds = int((until - self.now).total_seconds())
        if seconds >= 0:
            return f"its host {host}, whose lease lasts for {seconds} s"
        if self.now - until > OLD_COPY:
            return f"a restart of {COMPUTE} on {host}, whose lease ended {-seconds} s ago"
        return f"a cell-conductor's sweep: the lease of {host} ended {-seconds} s ago"


def _ago(now: datetime.datetime, service: Service) -> str:
    return f"{int((now - service.last_seen_up).total_seconds())} s ago"


@operation.command("list")
@click.option("--cell", "cell_name", metavar="NAME", help="Those of this cell only.")
@click.option("--server", type=click.UUID, metavar="UUID", help="Those of this server only.")
@json_option
@click.pass_context
@pass_deployment
def list_operations(
    deployment: Deployment,
    context: click.Context,
    *,
    cell_name: str | None,
    server: uuids.UUID | None,
    as_json: bool,
) -> None:
    """List the operations on servers that are under way, the oldest first, and what they wait for.

    Builds are among them, and resizes and migrations that wait for their users to confirm or revert
    them. Exits with 1 when a cell is out of reach.
    """
    instance_uuid = None if server is None else str(server)
    rows, away = [], []
    for cell in deployment.named_cells(cell_name):
        try:
            rows += _rows_of(deployment, cell, instance_uuid)
        except exception.Unavailable as error:
            away.append(f"cell {cell.name}: {error.message}")
    show_rows(rows, _COLUMNS, as_json=as_json)
    for message in away:
        warn(message)
    if away:
        context.exit(1)


@operation.command()
@click.argument("uuid", type=click.UUID)
@json_option
@pass_deployment
def show(deployment: Deployment, *, uuid: uuids.UUID, as_json: bool) -> None:
    """Show an operation, or those of a server: its state, what it waits for, and its history.

    UUID is an operation's or a server's. Of a server that nothing is done to, the last operation
    is shown. Times of events are those of the daemons that took the steps.
    """
    stories = _find(deployment, str(uuid))
    if as_json:
        show_one({"operations": stories}, as_json=True)
        return
    for story in stories:
        events = story.pop("events")
        show_one(story, as_json=False)
        show_rows(events, _EVENT, as_json=False)


def _rows_of(deployment: Deployment, cell: Cell, server: str | None) -> list[dict[str, Any]]:
    database = deployment.checked(cell)
    found = database.query(operation_reports.list_current, instance_uuid=server)
    daemons = _daemons(deployment, cell) if found else None
    return [_row(cell, report, daemons) for report in found]


def _find(deployment: Deployment, uuid: str) -> list[dict[str, Any]]:
    """Return the operations of this uuid, or of the server of this uuid, from any cell.

    :raises roost.exception.NotFound: when there are none
    :raises roost.exception.Unavailable: when they may be in a cell that is out of reach
    """
    away = []
    for cell in deployment.cells.all():
        try:
            found = deployment.checked(cell).query(operation_reports.find, uuid)
        except exception.Unavailable as error:
            away.append(f"cell {cell.name}: {error.message}")
            continue
        if found:
            daemons = _daemons(deployment, cell)
            return [_story(cell, report, action, daemons) for report, action in found]
    if away:
        raise exception.Unavailable(
            f"{uuid} is not an operation of the other cells, nor a server with one: "
            + "; ".join(away)
        )
    raise exception.NotFound(
        f"{uuid} is no operation, nor a server that ever had one; see roost-manage operation list"
    )


def _daemons(deployment: Deployment, cell: Cell) -> CellDaemons:
    roll = cell.database.query(services.call_roll)
    up = deployment.service_group.find_up(roll.services, cell_uuid=cell.uuid, now=roll.now)
    return CellDaemons(
        cell=cell.name,
        now=roll.now,
        hosts={each.host: each for each in roll.services if each.binary == COMPUTE},
        up=frozenset(up),
        has_conductor=any(each.uuid in up for each in roll.services if each.binary == _CONDUCTOR),
    )


def _row(cell: Cell, report: OperationReport, daemons: CellDaemons | None) -> dict[str, Any]:
    """Return what the list says of an operation; ``daemons`` None: it is over."""
    return {
        "operation": report.uuid,
        "server": report.instance_uuid,
        "cell": cell.name,
        "kind": report.kind,
        "step": report.step,
        "host": report.host,
        "tries": report.tries,
        "since": report.since,
        "waits_for": daemons and daemons.awaited_by(report),
    }


def _story(
    cell: Cell, report: OperationReport, action: InstanceAction | None, daemons: CellDaemons
) -> dict[str, Any]:
    is_over = action is not None and action.finish_time is not None and not report.unconfirmed
    message = None if action is None else action.message
    return {
        **_row(cell, report, None if is_over else daemons),
        "state": _state(is_over, report, message),
        "reason": report.reason or message,
        "ended": action and action.finish_time,
        "request": action and action.request_id,
        "user": action and action.user_id,
        "events": [_event(event) for event in (action.events if action else ())],
    }


def _state(is_over: bool, report: OperationReport, message: str | None) -> str:
    if report.unconfirmed:
        return "unconfirmed"
    if not is_over:
        return "under way" if report.reason is None else "being undone"
    return "done" if message is None else "failed"


def _event(event: InstanceActionEvent) -> dict[str, Any]:
    finish = event.finish_time
    return {
        "time": event.start_time,
        "seconds": finish and round((finish - event.start_time).total_seconds(), 1),
        "host": event.host,
        "event": event.event,
        "result": event.result,
        "details": event.details,
    }
