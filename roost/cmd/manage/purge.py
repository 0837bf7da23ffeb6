"""``roost-manage db purge``: removes for good what was deleted long ago."""

import datetime
import pathlib

import click

from roost import exception
from roost.cells import Cell
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_rows
from roost.conductor.purge import BATCH, Archive, Purge

_COLUMNS = ("cell", "servers", "state")


@click.command()
@click.option(
    "--older-than", "days", type=click.FloatRange(min=0), required=True, metavar="DAYS",
    help="Servers that were deleted so many days ago, or more.",
)  # fmt: skip
@click.option(
    "--archive", "folder", type=click.Path(file_okay=False, path_type=pathlib.Path),
    help="Keep their rows in this folder: JSON lines, a file for each cell and day.",
)  # fmt: skip
@click.option(
    "--batch", type=click.IntRange(1, 10_000), default=BATCH, show_default=True,
    help="Servers that one transaction removes.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Tell how many there are, and remove nothing.")
@json_option
@click.pass_context
@pass_deployment
def purge(
    deployment: Deployment,
    context: click.Context,
    *,
    days: float,
    folder: pathlib.Path | None,
    batch: int,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Remove deleted servers and all that is known of them, from all cells and the API's database.

    They are in no list any more then, and their usage is not counted. May be run at any time, and
    again; exits with 1 when a cell could not be reached.
    """
    archive = None if folder is None else Archive(folder)
    purging = Purge(
        deployment.api_database,
        deployment.cells,
        datetime.timedelta(days=days),
        archive,
        batch,
        dry_run,
    )
    rows = [_row(cell, done, dry_run=dry_run) for cell, done in purging.run()]
    show_rows(rows, _COLUMNS, as_json=as_json)
    if any(row["servers"] is None for row in rows):
        context.exit(1)


def _row(cell: Cell, done: int | exception.Unavailable, *, dry_run: bool) -> dict[str, object]:
    if isinstance(done, exception.Unavailable):
        return {"cell": cell.name, "servers": None, "state": done.message}
    return {"cell": cell.name, "servers": done, "state": "to be removed" if dry_run else "removed"}
