"""``roost-manage quota``: what projects are charged, whether they have that, and may have it."""

from collections.abc import Mapping
from typing import Final

import click

from roost.api.validation import MAX_INTEGER
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_done, show_one, show_rows
from roost.conf.quota import OPTIONS
from roost.db.api import ports, security_groups
from roost.db.api import quota as rows
from roost.db.api.quota import QuotaDifference
from roost.db.engine import Database, retried
from roost.image.local import LocalImageStore
from roost.image.local_quota import ImageLimits

_NAMES: Final = tuple(option.name for option in OPTIONS)
_OF_IMAGES: Final = {"images": "images", "image_bytes": "size"}
_MOST_BYTES: Final = 2**63 - 1


@click.group()
def quota() -> None:
    """Look at what projects are charged and may have, and give them other limits."""


@quota.command()
@click.argument("project")
@click.option("--user", help="Show what this user has of it, and the limits that they meet.")
@json_option
@pass_deployment
def show(deployment: Deployment, *, project: str, user: str | None, as_json: bool) -> None:
    """Show what a project is charged, what it has, and its limits (-1: none).

    Most is charged for nowhere, but counted when more is asked for. What is limited for each
    server, group or user is not counted here.
    """
    if user:
        _show_user(deployment, project, user, as_json=as_json)
        return
    with deployment.api_database.read() as session:
        used = rows.usage(session, project)
        has = {
            **dict.fromkeys(rows.RESOURCES, 0),
            **rows.counted(session, project).get(project, {}),
            **security_groups.usage(session, project),
            **ports.usage(session, project),
        }
        limits = rows.limits(session, project, dict(deployment.conf.quota))
    if isinstance(deployment.images, LocalImageStore):
        has |= _of_images(deployment.images.usage(project))
        limits |= _of_images(deployment.images.limits(project))
    others = sorted(set(_NAMES) - set(rows.RESOURCES))
    table = [
        {
            "resource": name,
            "charged": used.get(name),
            "has": has.get(name),
            "limit": limits[name],
        }
        for name in (*rows.RESOURCES, *others)
    ]
    show_rows(table, ("resource", "charged", "has", "limit"), as_json=as_json)


@quota.command("set")
@click.argument("project")
@click.argument("limits", nargs=-1, required=True, metavar="RESOURCE=LIMIT...")
@json_option
@pass_deployment
def set_limits(
    deployment: Deployment, *, project: str, limits: tuple[str, ...], as_json: bool
) -> None:
    """Give a project limits of its own (-1: none), also of what os-quota-sets has no word for.

    Whatever it has above a lower limit stays. Limits of images are kept in the local store, for all
    daemons that share it.
    """
    said = dict(_limit(entry) for entry in limits)
    _change(deployment, project, said)
    show_done(f"{project} has {len(said)} limits of its own", said, as_json=as_json)


@quota.command()
@click.argument("project")
@click.argument("resources", nargs=-1, required=True, type=click.Choice(_NAMES))
@json_option
@pass_deployment
def unset(
    deployment: Deployment, *, project: str, resources: tuple[str, ...], as_json: bool
) -> None:
    """Let the defaults count for a project again."""
    _change(deployment, project, dict.fromkeys(resources))
    told = f"{project} has the default limits of {', '.join(resources)}"
    show_done(told, {"resources": resources}, as_json=as_json)


def _change(deployment: Deployment, project: str, limits: Mapping[str, int | None]) -> None:
    of_images = {_OF_IMAGES[name]: limits[name] for name in limits if name in _OF_IMAGES}
    others = {name: limits[name] for name in limits if name not in _OF_IMAGES}
    if of_images:
        deployment.local_images.set_limits(project, of_images)
    if others:
        _change_rows(deployment.api_database, project, others)


@retried
def _change_rows(database: Database, project: str, limits: Mapping[str, int | None]) -> None:
    said = {name: limit for name, limit in limits.items() if limit is not None}
    with database.begin() as session:
        rows.set_for_project(session, project, said)
        rows.unset_for_project(session, project, limits.keys() - said.keys())


def _limit(entry: str) -> tuple[str, int]:
    """Return what somebody has written as the limit of a resource.

    :raises click.BadParameter: when it is none
    """
    name, _, text = entry.partition("=")
    if name not in _NAMES:
        raise click.BadParameter(f"{name!r} is none of {', '.join(_NAMES)}")
    most = _MOST_BYTES if name == "image_bytes" else MAX_INTEGER
    if not text.removeprefix("-").isdecimal() or not -1 <= int(text) <= most:
        raise click.BadParameter(f"{entry!r} must read RESOURCE=LIMIT, from -1 to {most}")
    return name, int(text)


def _of_images(amounts: ImageLimits) -> dict[str, int]:
    return {name: getattr(amounts, field) for name, field in _OF_IMAGES.items()}


def _show_user(deployment: Deployment, project: str, user: str, *, as_json: bool) -> None:
    with deployment.api_database.read() as session:
        has = rows.usage_of_user(session, project, user)
        limits = rows.bounds(session, project, _defaults(deployment), user_id=user)
    table = [{"resource": name, "has": has[name], "limit": limits[name]} for name in rows.RESOURCES]
    show_rows(table, ("resource", "has", "limit"), as_json=as_json)


@quota.command()
@click.option("--repair", is_flag=True, help="Charge these projects for what they have.")
@json_option
@pass_deployment
def audit(deployment: Deployment, *, repair: bool, as_json: bool) -> None:
    """Find projects that are charged something else than their servers and groups add up to.

    They are compared at one moment, so nothing under way is found; and projects may go on using
    their quota while they are counted anew. Exits with 0 when there are none (with --repair: any
    more), else with 1.
    """
    database = deployment.api_database
    with database.read() as session:
        found = rows.differences(session)
    if repair:
        found = {project: _recount(database, project) for project in found}
    if as_json:
        told = {project: difference._asdict() for project, difference in found.items()}
        show_one({"differences": told, "repaired": repair}, as_json=True)
    elif found:
        show_rows(_table(found), ("project", "resource", "charged", "has"), as_json=False)
    else:
        click.echo("all projects are charged for what they have")
    if found and not repair:
        click.get_current_context().exit(1)


@retried
def _recount(database: Database, project: str) -> QuotaDifference:
    with database.begin() as session:
        return rows.recount(session, project)


def _table(found: dict[str, QuotaDifference]) -> list[dict[str, object]]:
    return [
        {"project": project, "resource": name, "charged": used[name], "has": counted[name]}
        for project, (used, counted) in found.items()
        for name in rows.RESOURCES
        if used[name] != counted[name]
    ]


def _defaults(deployment: Deployment) -> dict[str, int]:
    return {name: deployment.conf.quota[name] for name in rows.RESOURCES}
