"""``roost-manage flavor``: the sizes of servers that users choose from."""

import uuid
from collections.abc import Iterator, Mapping

import click

from roost import exception
from roost.api.validation import MAX_INTEGER
from roost.cmd.manage.arguments import properties_option, to_mapping, visible_name
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_done, show_one, show_rows
from roost.db.api import flavors
from roost.db.engine import Session
from roost.hardware import names, pci_aliases
from roost.hardware.pci_aliases import PciAlias
from roost.hardware.requirements import complaints_of
from roost.objects import Flavor

_FROM_0 = click.IntRange(0, MAX_INTEGER)
_COLUMNS = ("id", "name", "vcpus", "ram", "disk", "ephemeral", "swap", "public", "extra_specs")
_FATES = ("id", "name", "extra_spec", "becomes", "why")


@click.group()
def flavor() -> None:
    """Manage the sizes that users choose from."""


@flavor.command()
@click.argument("name", callback=visible_name)
@click.option("--id", "flavorid", help="The id that users know. Default: a new uuid.")
@click.option("--vcpus", type=click.IntRange(1, MAX_INTEGER), required=True, help="Virtual CPUs.")
@click.option("--ram", type=click.IntRange(1, MAX_INTEGER), required=True, help="Memory in MiB.")
@click.option("--disk", type=_FROM_0, default=0, help="Root disk in GiB.")
@click.option("--ephemeral", type=_FROM_0, default=0, help="Further disk in GiB.")
@click.option("--swap", type=_FROM_0, default=0, help="Swap in MiB.")
@click.option("--private", is_flag=True, help="Only for projects with access.")
@click.option("--description", help="A description for users.")
@properties_option
@json_option
@pass_deployment
def create(
    deployment: Deployment,
    *,
    name: str,
    flavorid: str | None,
    vcpus: int,
    ram: int,
    disk: int,
    ephemeral: int,
    swap: int,
    private: bool,
    description: str | None,
    properties: tuple[str, ...],
    as_json: bool,
) -> None:
    """Create a flavor."""
    specs = to_mapping(properties)
    names.check_written(specs)
    wanted = Flavor.of(
        flavorid=flavorid or str(uuid.uuid4()),
        name=name,
        vcpus=vcpus,
        memory_mb=ram,
        root_gb=disk,
        ephemeral_gb=ephemeral,
        swap=swap,
        rxtx_factor=1.0,
        is_public=not private,
        disabled=False,
        description=description,
        extra_specs=specs,
    )
    with deployment.api_database.begin() as session:
        created = flavors.create(session, wanted)
    show_one(_row(created), as_json=as_json)


@flavor.command("list")
@json_option
@pass_deployment
def list_flavors(deployment: Deployment, *, as_json: bool) -> None:
    """List flavors, private ones included."""
    found = deployment.api_database.query(flavors.list_flavors, is_public=None)
    show_rows([_row(each) for each in found], _COLUMNS, as_json=as_json)


@flavor.command()
@json_option
@pass_deployment
def check(deployment: Deployment, *, as_json: bool) -> None:
    """List extra specs that are ignored, and errors that keep flavors from booting."""
    aliases = pci_aliases.parse(deployment.conf.pci.alias)
    found = deployment.api_database.query(flavors.list_flavors, is_public=None)
    rows = [row for each in found for row in _fates_of(each, aliases)]
    show_rows(rows, _FATES, as_json=as_json)


@flavor.command()
@click.argument("flavor_id", metavar="ID|NAME")
@json_option
@pass_deployment
def delete(deployment: Deployment, *, flavor_id: str, as_json: bool) -> None:
    """Delete a flavor; existing servers keep their size."""
    with deployment.api_database.begin() as session:
        found = named_flavor(session, flavor_id)
        flavors.delete(session, found.flavorid)
    show_done(f"deleted the flavor {found.name} ({found.flavorid})", _row(found), as_json=as_json)


def named_flavor(session: Session, name: str) -> Flavor:
    """Return the flavor of this id or, if there is none, of this name.

    :raises roost.exception.NotFound: when there is neither
    """
    try:
        return flavors.get(session, name)
    except exception.NotFound:
        return flavors.get_by_name(session, name)


def _fates_of(flavor: Flavor, aliases: Mapping[str, PciAlias]) -> Iterator[dict[str, str]]:
    whose = {"id": flavor.flavorid, "name": flavor.name}
    for name, value, fate in names.fates(flavor.extra_specs):
        yield whose | {"extra_spec": f"{name}={value}", "becomes": fate.outcome, "why": fate.why}
    for why in complaints_of(flavor, aliases):
        yield whose | {"extra_spec": "", "becomes": names.REFUSED, "why": why}


def _row(flavor: Flavor) -> dict[str, object]:
    return {
        "id": flavor.flavorid,
        "name": flavor.name,
        "vcpus": flavor.vcpus,
        "ram": flavor.memory_mb,
        "disk": flavor.root_gb,
        "ephemeral": flavor.ephemeral_gb,
        "swap": flavor.swap,
        "public": flavor.is_public,
        "extra_specs": flavor.extra_specs,
    }
