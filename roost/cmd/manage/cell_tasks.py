"""``roost-manage cell held-tasks``: lists and releases tasks that wait for an operator."""

from collections.abc import Sequence
from typing import Final

import click

from roost import exception
from roost.cells import Cell
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_rows
from roost.db.cell import stale_tasks
from roost.db.cell.stale_tasks import STALE_SECONDS
from roost.db.engine import retried

_COLUMNS: Final = ("cell", "server", "host", "vm_state", "task_state", "since", "released")


@click.command("held-tasks")
@click.argument("name", metavar="[NAME|UUID]", required=False)
@click.option("--release", is_flag=True, help="Let the conductors continue them.")
@click.option(
    "--server", "servers", metavar="UUID", multiple=True, help="Release this one; may be repeated."
)
@json_option
@pass_deployment
def held_tasks(
    deployment: Deployment,
    *,
    name: str | None,
    release: bool,
    servers: Sequence[str],
    as_json: bool,
) -> None:
    """Show the tasks of servers that conductors do not continue until an operator releases them.

    No conductor has worked on them for an hour: no conductor of the cell was up for so long, or a
    backup of its database was restored. After a restore, run roost-manage cell after-restore first.
    """
    if servers and not release:
        raise click.UsageError("--server selects tasks for --release: give both")
    rows = []
    for cell in deployment.named_cells(name):
        waiting = _list(deployment, cell)
        released = _release(cell, servers or None) if release else set()
        rows += [_row(cell, task, released=task.instance_uuid in released) for task in waiting]
    show_rows(rows, _COLUMNS, as_json=as_json)
    unknown = {*servers} - {row["server"] for row in rows}
    if unknown:
        raise exception.NotFound(f"no task of {', '.join(sorted(unknown))} waits for an operator")


def _list(deployment: Deployment, cell: Cell) -> list[stale_tasks.StaleTask]:
    with deployment.checked(cell).read() as session:
        return stale_tasks.list_stale(session, seconds=STALE_SECONDS)


@retried
def _release(cell: Cell, only: Sequence[str] | None) -> set[str]:
    with cell.database.begin() as session:
        return stale_tasks.release(session, seconds=STALE_SECONDS, only=only)


def _row(cell: Cell, task: stale_tasks.StaleTask, *, released: bool) -> dict[str, object]:
    return {
        "cell": cell.name,
        "server": task.instance_uuid,
        "host": task.host,
        "vm_state": task.vm_state,
        "task_state": task.task_state,
        "since": task.since,
        "released": released,
    }
