"""``roost-manage db``: the schemas of the databases."""

import dataclasses

import click

from roost import exception, migrations
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_rows
from roost.cmd.manage.purge import purge
from roost.cmd.manage.urls import url_option
from roost.db.engine import Database

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
class Place:
    """A database, and the schema that it is to have."""

    schema: str
    database: Database


@click.group()
def db() -> None:
    """Bring the schemas of databases up to date, tell their versions, remove what is old.

    SCHEMA is api, cell, scheduler or all: those that the configuration names a database for. The
    databases of cells are found by --cell or --all-cells, too.
    """


db.add_command(purge)


@db.command()
@_schema
@_cell
@_all_cells
@_url
@click.option("--revision", default="head", show_default=True, help="How far up to go.")
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
    """Tell versions; exits with 1 when one is behind, missing or out of reach."""
    places = _places(deployment, schema, cell_name, all_cells=all_cells, url=database_url)
    rows = [_row(place) for place in places]
    show_rows(rows, _COLUMNS, as_json=as_json)
    if any(row["state"] not in ("current", "newer") for row in rows):
        context.exit(1)


def _places(
    deployment: Deployment, schema: str, cell_name: str | None, *, all_cells: bool, url: str | None
) -> list[Place]:
    if sum((cell_name is not None, all_cells, url is not None)) > 1:
        raise click.UsageError("--cell, --all-cells and --database-url exclude each other.")
    if url is not None:
        if schema == "all":
            raise click.UsageError("--database-url needs to know which SCHEMA is there.")
        return [Place(schema, deployment.database(url))]
    if cell_name is not None or all_cells:
        if schema not in ("all", migrations.CELL):
            raise click.UsageError(f"--cell and --all-cells are for the schema cell, not {schema}.")
        cells = deployment.named_cells(cell_name)
        return [Place(migrations.CELL, cell.database) for cell in cells]
    return _configured(deployment, migrations.SCHEMAS if schema == "all" else (schema,))


def _configured(deployment: Deployment, schemas: tuple[str, ...]) -> list[Place]:
    found = [(schema, deployment.configured(schema)) for schema in schemas]
    places = [Place(schema, database) for schema, database in found if database is not None]
    if not places:
        options = " or ".join(f"[{schema}_database] connection" for schema in schemas)
        raise exception.Invalid(
            f"nothing to do: no database is configured. Set {options}, or use --cell,"
            " --all-cells or --database-url"
        )
    return places


def _synced(place: Place, revision: str) -> dict[str, str | None]:
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


def _row(place: Place) -> dict[str, str | None]:
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
