"""``roost-manage cell``: manages the cells and their database and transport URLs."""

import uuid as uuids

import click

from roost import exception, migrations
from roost.cells import Cell
from roost.cmd.manage import cell_hosts, cell_verify
from roost.cmd.manage.arguments import cell_name
from roost.cmd.manage.database import url_option
from roost.cmd.manage.deployment import Deployment, masked, pass_deployment
from roost.cmd.manage.host_removal import remove_host
from roost.cmd.manage.output import json_option, show_done, show_one, show_rows, warn
from roost.context import admin_context
from roost.db.api import cells
from roost.db.cell import identity
from roost.db.engine import Database
from roost.objects import CellMapping
from roost.objects.mapping import CELL0_UUID

CELL0 = "cell0"
_COLUMNS = ("name", "uuid", "transport_url", "database_url", "disabled", "hosts")
_database_url = url_option(
    "--database-url", "The cell's own database.", required=True, envvar="ROOST_CELL_DATABASE_URL"
)
_transport_url = url_option(
    "--transport-url", "The cell's own bus.", required=True, envvar="ROOST_CELL_TRANSPORT_URL"
)
_name = click.argument("name", metavar="NAME|UUID")


@click.group()
def cell() -> None:
    """Manage cells, and which hosts belong to them.

    A new cell: db sync cell --database-url URL, cell create, start its daemons, cell
    discover-hosts, cell verify.
    """


@cell.command("map-cell0")
@_database_url
@json_option
@pass_deployment
def map_cell0(deployment: Deployment, *, database_url: str, as_json: bool) -> None:
    """Map cell0, for instances that no host could take. May be repeated."""
    mapping = CellMapping.of(
        uuid=CELL0_UUID,
        name=CELL0,
        transport_url=None,
        database_url=database_url,
        disabled=False,
    )
    mapped = deployment.api_database.query(cells.list_cells)
    known = {each.uuid: each for each in mapped}.get(CELL0_UUID)
    if known is None:
        _add(deployment, mapping)
    elif known.database_url != database_url:
        raise exception.Conflict(
            f"cell0 is mapped to {masked(known.database_url)} already; to move it, run"
            " roost-manage cell update cell0 --database-url URL"
        )
    done = "cell0 is mapped" if known is None else "cell0 was mapped already"
    show_done(done, _row(mapping, hosts=0), as_json=as_json)


@cell.command()
@click.option("--name", required=True, callback=cell_name, help="The name of the cell.")
@_transport_url
@_database_url
@click.option("--disabled", is_flag=True, help="It gets no new servers until it is enabled.")
@json_option
@pass_deployment
def create(
    deployment: Deployment,
    *,
    name: str,
    transport_url: str,
    database_url: str,
    disabled: bool,
    as_json: bool,
) -> None:
    """Map a cell. Its database must have its schema; its bus may be unavailable."""
    if name == CELL0:
        raise exception.Invalid("cell0 is mapped by roost-manage cell map-cell0")
    deployment.bus(transport_url)
    mapping = CellMapping.of(
        uuid=_uuid_for(deployment, name, database_url),
        name=name,
        transport_url=transport_url,
        database_url=database_url,
        disabled=disabled,
    )
    _add(deployment, mapping)
    show_one(_row(mapping, hosts=0), as_json=as_json)


@cell.command("list")
@json_option
@pass_deployment
def list_cells(deployment: Deployment, *, as_json: bool) -> None:
    """List cells in order of their creation; passwords are not shown."""
    with deployment.api_database.read() as session:
        mappings = cells.list_cells(session)
        counted = [host.cell_uuid for host in cells.list_hosts(session)]
    rows = [_row(mapping, hosts=counted.count(mapping.uuid)) for mapping in mappings]
    show_rows(rows, _COLUMNS, as_json=as_json)


@cell.command()
@_name
@json_option
@pass_deployment
def show(deployment: Deployment, *, name: str, as_json: bool) -> None:
    """Show a cell with its hosts, and how many instances are mapped to it."""
    (found,) = deployment.named_cells(name)
    with deployment.api_database.read() as session:
        hosts = [mapping.host for mapping in cells.list_hosts(session, found.uuid)]
        instances = cells.count_instances(session, found.uuid)
    values = {**_row(found.mapping, hosts=len(hosts)), "hosts": hosts, "instances": instances}
    show_one(values, as_json=as_json)


@cell.command()
@_name
@click.option("--name", "new_name", callback=cell_name, help="The new name of the cell.")
@url_option("--transport-url", "The new URL of its bus.")
@url_option("--database-url", "The new URL of its database.")
@click.option("--enable/--disable", "enabled", default=None, help="Whether it gets new servers.")
@json_option
@pass_deployment
def update(
    deployment: Deployment,
    *,
    name: str,
    new_name: str | None,
    transport_url: str | None,
    database_url: str | None,
    enabled: bool | None,
    as_json: bool,
) -> None:
    """Change a cell. The change reaches the daemons within seconds."""
    (found,) = deployment.named_cells(name)
    wanted = {
        "name": new_name,
        "transport_url": transport_url,
        "database_url": database_url,
        "disabled": None if enabled is None else not enabled,
    }
    changes: dict[str, object] = {
        field: value for field, value in wanted.items() if value is not None
    }
    if not changes:
        raise click.UsageError("Nothing to change: give at least one option.")
    _check_changes(deployment, found, changes)
    with deployment.api_database.begin() as session:
        _refuse_taken_name(cells.list_cells(session), found, new_name)
        cells.update(session, found.uuid, **changes)
        changed = cells.get(session, found.uuid)
        hosts = len(cells.list_hosts(session, found.uuid))
    if new_name is not None:
        _reached(deployment, database_url or found.mapping.database_url).write(
            identity.set_identity, cell_uuid=found.uuid, cell_name=new_name
        )
    done = f"changed the cell {found.name}: {', '.join(changes)}"
    show_done(done, _row(changed, hosts=hosts), as_json=as_json)


@cell.command()
@_name
@click.option("--force", is_flag=True, help="Even while hosts or instances are mapped to it.")
@json_option
@pass_deployment
def delete(deployment: Deployment, *, name: str, force: bool, as_json: bool) -> None:
    """Remove a cell and its hosts. Its database and bus are left as they are."""
    (found,) = deployment.named_cells(name)
    with deployment.api_database.begin() as session:
        hosts = len(cells.list_hosts(session, found.uuid))
        instances = cells.count_instances(session, found.uuid)
        if (hosts or instances) and not force:
            raise exception.Conflict(
                f"the cell {found.name} still has {hosts} hosts and {instances} instances mapped"
                " to it: delete the instances first; --force removes the mappings of hosts, and"
                " remaining instances become unreachable"
            )
        cells.delete(session, found.uuid)
    try:
        deployment.answering_scheduler.forget_cell(admin_context(), cell_uuid=found.uuid)
    except exception.Unavailable as error:
        warn(f"its user represents it until the schedulers are notified: {error.message}")
    done = f"deleted the cell {found.name} ({found.uuid})"
    show_done(done, _row(found.mapping, hosts=hosts), as_json=as_json)


@cell.command("forget-user")
@_name
@json_option
@pass_deployment
def forget_user(deployment: Deployment, *, name: str, as_json: bool) -> None:
    """Let another user of the bus report a cell to the schedulers.

    The schedulers accept reports of a cell only from the user that was the first to report it.
    After its conductors get another user, restart them and run this; their next report counts.
    """
    (found,) = deployment.named_cells(name)
    deployment.answering_scheduler.forget_cell(admin_context(), cell_uuid=found.uuid)
    done = f"the next user that reports the cell {found.name} represents it"
    show_done(done, {"name": found.name, "uuid": found.uuid}, as_json=as_json)


cell.add_command(cell_hosts.discover_hosts)
cell.add_command(cell_hosts.list_hosts)
cell.add_command(remove_host)
cell.add_command(cell_verify.verify)
cell.add_command(cell_hosts.replace_host)


def _add(deployment: Deployment, mapping: CellMapping) -> None:
    """Map the cell and write its identity into its database: both, or only the second."""
    database = _reached(deployment, mapping.database_url)
    with deployment.api_database.begin() as session:
        cells.create(session, mapping)
        database.write(identity.set_identity, cell_uuid=mapping.uuid, cell_name=mapping.name)


def _uuid_for(deployment: Deployment, name: str, database_url: str) -> str:
    """Return a new uuid, or that of an earlier, interrupted attempt."""
    known = _reached(deployment, database_url).query(identity.get_identity)
    mapped = {mapping.uuid for mapping in deployment.api_database.query(cells.list_cells)}
    if known is not None and known[1] == name and known[0] not in mapped:
        return known[0]
    return str(uuids.uuid4())


def _reached(deployment: Deployment, url: str) -> Database:
    """Return the database of a cell, after a check that it has its schema.

    :raises roost.exception.Unavailable: when it does not; the message says what to run
    """
    database = deployment.database(url)
    if migrations.version(database, migrations.CELL) is None:
        raise exception.Unavailable(
            f"the database {database} has no cell schema yet: run"
            " roost-manage db sync cell --database-url URL"
        )
    migrations.check(database, migrations.CELL)
    return database


def _check_changes(deployment: Deployment, found: Cell, changes: dict[str, object]) -> None:
    """Refuse invalid changes.

    :raises roost.exception.RoostError: with the reason
    """
    if found.is_cell0 and changes.keys() - {"database_url"}:
        raise exception.Invalid("of cell0 only --database-url can be changed")
    if "transport_url" in changes:
        deployment.bus(str(changes["transport_url"]))
    if "database_url" in changes:
        _reached(deployment, str(changes["database_url"])).write(
            identity.set_identity, cell_uuid=found.uuid, cell_name=found.name
        )
    if changes.get("disabled") is True:
        warn(f"servers that are in {found.name} stay; it gets no new ones")


def _refuse_taken_name(mappings: list[CellMapping], found: Cell, name: str | None) -> None:
    if any(mapping.name == name and mapping.uuid != found.uuid for mapping in mappings):
        raise exception.Conflict(f"there is a cell {name!r} already")


def _row(mapping: CellMapping, *, hosts: int) -> dict[str, object]:
    return {
        "name": mapping.name,
        "uuid": mapping.uuid,
        "transport_url": masked(mapping.transport_url),
        "database_url": masked(mapping.database_url),
        "disabled": mapping.disabled,
        "hosts": hosts,
    }
