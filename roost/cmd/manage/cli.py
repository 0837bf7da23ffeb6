"""The ``roost-manage`` command: its groups of subcommands, and the messages of failures."""

import logging
import pathlib
from typing import Any

import click
from oslo_config import cfg
from oslo_db import exception as db_exception

from roost import exception
from roost.cmd.manage import audit, cell, database, flavor, host, image, operation, quota, service
from roost.cmd.manage.deployment import Deployment
from roost.cmd.manage.host_removal import remove_host
from roost.cmd.manage.placement_explain import explain
from roost.cmd.manage.placement_inventory import inventory, traits, usage
from roost.cmd.manage.placement_lists import claims, hosts
from roost.cmd.manage.placement_simulate import simulate


@click.group()
def placement() -> None:
    """Inspect and plan which hosts take which servers."""


for _command in (explain, hosts, inventory, usage, traits, claims, remove_host, simulate):
    placement.add_command(_command)


_FILE = click.Path(exists=True, dir_okay=False, path_type=pathlib.Path)
_FOLDER = click.Path(exists=True, file_okay=False, path_type=pathlib.Path)


class ManageCommands(click.Group):
    """Prints invalid input and unavailable parts as one sentence, and exits with 1 then."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except exception.Internal:
            raise
        except exception.RoostError as error:
            raise click.ClickException(error.message) from error
        except cfg.Error as error:
            raise click.ClickException(f"the configuration cannot be read: {error}") from error
        except db_exception.DBNonExistentTable as error:
            raise click.ClickException(
                f"a table is missing, {error.table}: roost-manage db version shows which database"
                " is behind (with --all-cells, too); roost-manage db sync brings it up to date"
            ) from error
        except OSError as error:
            raise click.ClickException(str(error)) from error


@click.group(
    cls=ManageCommands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 done, and all is well; 1 failed, or something is wrong; 2 the command"
    " line is wrong.",
)
@click.option(
    "--config-file",
    "files",
    type=_FILE,
    multiple=True,
    help="Read this file; may be repeated. Default: /etc/roost/roost.conf, if it is there.",
)
@click.option(
    "--config-dir",
    "folders",
    type=_FOLDER,
    multiple=True,
    help="Read all *.conf files in this folder, after the files; may be repeated.",
)
@click.option("--debug", is_flag=True, help="Log to stderr.")
@click.version_option(package_name="roost")
@click.pass_context
def roost_manage(
    context: click.Context,
    files: tuple[pathlib.Path, ...],
    folders: tuple[pathlib.Path, ...],
    debug: bool,
) -> None:
    """Manage a deployment of Roost: databases, cells, flavors, images, placement; and audit it."""
    logging.basicConfig(level=logging.DEBUG if debug else logging.ERROR)
    context.obj = Deployment(files, folders)
    context.call_on_close(context.obj.close)


for _group in (
    database.db,
    cell.cell,
    service.service,
    flavor.flavor,
    host.host,
    image.image,
    operation.operation,
    placement,
    quota.quota,
):
    roost_manage.add_command(_group)
roost_manage.add_command(audit.audit)
