"""``roost-manage db``: the schemas of the databases, and the purge of deleted servers.

URLs may have passwords, and all users of a machine can read a command line while the command runs,
and later in the shell's history. So ``@FILE`` reads a file, ``-`` a line of standard input
(``url_option``), and some commands read an environment variable.
"""

import dataclasses
import datetime
import pathlib
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from roost import exception, migrations
from roost.cells import Cell
from roost.cmd.manage.deployment import Deployment, masked, pass_deployment
from roost.cmd.manage.output import json_option, show_rows, warn
from roost.conductor.super.purge import BATCH, Archive, Purge
from roost.db.engine import Database

F = TypeVar("F", bound=Callable[..., Any])
_HOW = "@FILE reads it from a file, - from standard input"


def url_option(
    name: str, help_text: str, *, required: bool = False, envvar: str | None = None
) -> Callable[[F], F]:
    """Return an option that takes a URL.

    :param envvar: the environment variable of the URL if the option is left out
    """
    text = f"{help_text} {_HOW}" + (f"; else ${envvar}." if envvar else ".")
    return click.option(
        name, metavar="URL", required=required, envvar=envvar, help=text, callback=_read
    )


def _read(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Return the URL, and warn of a password that others may have seen.

    :raises click.BadParameter: when the file or standard input has none
    """
    if value is None:
        return None
    if value == "-":
        return _line(sys.stdin.readline(), "standard input")
    if value.startswith("@"):
        return _line(_content(pathlib.Path(value[1:])), value[1:])
    said = context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
    if said and masked(value) != value:
        warn(
            f"{option.opts[0]} has a password, which others on this machine can see, and which"
            f" stays in the history of the shell: {_HOW}"
        )
    return value


def _content(path: pathlib.Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"{path} cannot be read: {error}") from error


def _line(text: str, where: str) -> str:
    lines = text.split()
    if len(lines) != 1:
        raise click.BadParameter(f"{where} must have one URL, and has {len(lines)}")
    return lines[0]


_PURGE_COLUMNS = ("cell", "servers", "state")


@click.command()
@click.option(
    "--older-than", "days", type=click.FloatRange(min=0), required=True, metavar="DAYS",
    help="Purge servers that were deleted this many days ago, or more.",
)  # fmt: skip
@click.option(
    "--archive", "folder", type=click.Path(file_okay=False, path_type=pathlib.Path),
    help="Keep their rows in this folder: JSON lines, a file for each cell and day.",
)  # fmt: skip
@click.option(
    "--batch", type=click.IntRange(1, 10_000), default=BATCH, show_default=True,
    help="Servers that one transaction removes.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Show how many there are, and remove nothing.")
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
    """Remove deleted servers and all their rows from all cells and the API's database.

    Then no list has them any more, and their usage is not counted. May be run at any time, and
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
    rows = [_purge_row(cell, done, dry_run=dry_run) for cell, done in purging.run()]
    show_rows(rows, _PURGE_COLUMNS, as_json=as_json)
    if any(row["servers"] is None for row in rows):
        context.exit(1)


def _purge_row(
    cell: Cell, done: int | exception.Unavailable, *, dry_run: bool
) -> dict[str, object]:
    if isinstance(done, exception.Unavailable):
        return {"cell": cell.name, "servers": None, "state": done.message}
    return {"cell": cell.name, "servers": done, "state": "to be removed" if dry_run else "removed"}


_COLUMNS = ("schema", "database", "version", "needed", "state")
_schema = click.argument(
    "schema", type=click.Choice([*migrations.SCHEMAS, "all"]), default="all", required=False
)
_cell = click.option(
    "--cell", "cell_name", metavar="NAME", help="The database of this cell, by its mapping."
)
_all_cells = click.option(
    "--all-cells", is_flag=True, help="The databases of all mapped cells, cell0 included."
)
_url = url_option("--database-url", "This database, whatever the configuration says.")


@dataclasses.dataclass(frozen=True)
class SchemaDatabase:
    """A database and the kind of its schema."""

    schema: str
    database: Database


@click.group()
def db() -> None:
    """Upgrade the schemas of databases, show their versions, purge deleted servers.

    SCHEMA is api, cell, scheduler or all: all that have a database in the configuration. --cell and
    --all-cells select the databases of mapped cells, too.
    """


db.add_command(purge)


@db.command()
@_schema
@_cell
@_all_cells
@_url
@click.option("--revision", default="head", show_default=True, help="The revision to upgrade to.")
@json_option
@pass_deployment
def sync(
    deployment: Deployment,
    *,
    schema: str,
    cell_name: str | None,
    all_cells: bool,
    database_url: str | None,
    revision: str,
    as_json: bool,
) -> None:
    """Create the tables, or bring them up to this release. May be repeated."""
    places = _places(deployment, schema, cell_name, all_cells=all_cells, url=database_url)
    rows = []
    for place in places:
        rows.append(_synced(place, revision))
        if not as_json:
            click.echo("{schema}: {database}: {done}".format(**rows[-1]))
    if as_json:
        show_rows(rows, ("schema", "database", "before", "after"), as_json=True)


@db.command()
@_schema
@_cell
@_all_cells
@_url
@json_option
@click.pass_context
@pass_deployment
def version(
    deployment: Deployment,
    context: click.Context,
    *,
    schema: str,
    cell_name: str | None,
    all_cells: bool,
    database_url: str | None,
    as_json: bool,
) -> None:
    """Show versions; exits with 1 when one is behind, missing or out of reach."""
    places = _places(deployment, schema, cell_name, all_cells=all_cells, url=database_url)
    rows = [_row(place) for place in places]
    show_rows(rows, _COLUMNS, as_json=as_json)
    if any(row["state"] not in ("current", "newer") for row in rows):
        context.exit(1)


def _places(
    deployment: Deployment, schema: str, cell_name: str | None, *, all_cells: bool, url: str | None
) -> list[SchemaDatabase]:
    if sum((cell_name is not None, all_cells, url is not None)) > 1:
        raise click.UsageError("--cell, --all-cells and --database-url exclude each other.")
    if url is not None:
        if schema == "all":
            raise click.UsageError("--database-url needs to know which SCHEMA is there.")
        return [SchemaDatabase(schema, deployment.database(url))]
    if cell_name is not None or all_cells:
        if schema not in ("all", migrations.CELL):
            raise click.UsageError(f"--cell and --all-cells are for the schema cell, not {schema}.")
        cells = deployment.named_cells(cell_name)
        return [SchemaDatabase(migrations.CELL, cell.database) for cell in cells]
    return _configured(deployment, migrations.SCHEMAS if schema == "all" else (schema,))


def _configured(deployment: Deployment, schemas: tuple[str, ...]) -> list[SchemaDatabase]:
    found = [(schema, deployment.configured(schema)) for schema in schemas]
    places = [
        SchemaDatabase(schema, database) for schema, database in found if database is not None
    ]
    if not places:
        options = " or ".join(f"[{schema}_database] connection" for schema in schemas)
        raise exception.Invalid(
            f"nothing to do: no database is configured. Set {options}, or use --cell,"
            " --all-cells or --database-url"
        )
    return places


def _synced(place: SchemaDatabase, revision: str) -> dict[str, str | None]:
    before = migrations.version(place.database, place.schema)
    migrations.sync(place.database, place.schema, revision)
    after = migrations.version(place.database, place.schema)
    return {
        "schema": place.schema,
        "database": str(place.database),
        "before": before,
        "after": after,
        "done": f"is at {after}" if before == after else f"{before or 'nothing'} -> {after}",
    }


def _row(place: SchemaDatabase) -> dict[str, str | None]:
    row = {
        "schema": place.schema,
        "database": str(place.database),
        "version": None,
        "needed": migrations.head(place.schema),
    }
    try:
        row["version"] = migrations.version(place.database, place.schema)
    except exception.Unavailable:
        return {**row, "state": "out of reach"}
    return {**row, "state": _state(row["version"], migrations.head(place.schema))}


def _state(present: str | None, needed: str) -> str:
    if present is None:
        return "missing"
    if present == needed:
        return "current"
    return "newer" if present > needed else "behind"
