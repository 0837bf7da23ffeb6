"""``roost-manage image``: the images of the local store; other stores have their own commands."""

import pathlib

import click

from roost.api.validation import MAX_INTEGER
from roost.cmd.manage.arguments import properties_option, to_mapping, visible_name
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_done, show_one, show_rows
from roost.context import admin_context
from roost.image.driver import DISK_FORMATS
from roost.objects import ImageMeta

_FROM_0 = click.IntRange(0, MAX_INTEGER)
_COLUMNS = ("id", "name", "status", "disk_format", "size", "hash_value", "min_ram", "min_disk")


@click.group()
def image() -> None:
    """Manage the images of the local image store."""


@image.command()
@click.argument("name", callback=visible_name)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=pathlib.Path))
@click.option(
    "--disk-format", type=click.Choice(sorted(DISK_FORMATS)), default="raw", show_default=True
)
@click.option("--min-ram", type=_FROM_0, default=0, help="MiB that a server needs.")
@click.option("--min-disk", type=_FROM_0, default=0, help="GiB that its disk needs.")
@properties_option
@json_option
@pass_deployment
def add(
    deployment: Deployment,
    *,
    name: str,
    file: pathlib.Path,
    disk_format: str,
    min_ram: int,
    min_disk: int,
    properties: tuple[str, ...],
    as_json: bool,
) -> None:
    """Add FILE to the store under NAME."""
    with file.open("rb") as data:
        added = deployment.local_images.add(
            admin_context(),
            name=name,
            data=data,
            disk_format=disk_format,
            min_ram=min_ram,
            min_disk=min_disk,
            properties=to_mapping(properties),
        )
    show_one(_row(added), as_json=as_json)


@image.command("list")
@json_option
@pass_deployment
def list_images(deployment: Deployment, *, as_json: bool) -> None:
    """List images, the oldest first."""
    found = deployment.local_images.list_images(admin_context())
    show_rows([_row(each) for each in found], _COLUMNS, as_json=as_json)


@image.command()
@click.argument("image_id", metavar="ID")
@json_option
@pass_deployment
def delete(deployment: Deployment, *, image_id: str, as_json: bool) -> None:
    """Delete an image; servers that were created from it are not changed."""
    deployment.local_images.delete(admin_context(), image_id)
    show_done(f"deleted the image {image_id}", {"id": image_id}, as_json=as_json)


def _row(image: ImageMeta) -> dict[str, object]:
    return {column: getattr(image, column) for column in _COLUMNS}
