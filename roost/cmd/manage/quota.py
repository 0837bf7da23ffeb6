"""``roost-manage quota``: shows the usage of projects, and audits it."""

from typing import Final

import click

from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_one, show_rows
from roost.conf.quota import OPTIONS
from roost.db.api import quota as rows
from roost.db.api.quota import QuotaDifference

_NAMES: Final = tuple(option.name for option in OPTIONS)


@click.group()
def quota() -> None:
    """Show the usage and limits of projects, and audit the usage."""


@quota.command()
@click.argument("project")
@click.option("--user", help="Show the usage and the limits of this user.")
@json_option
@pass_deployment
def show(deployment: Deployment, *, project: str, user: str | None, as_json: bool) -> None:
    """Show the recorded usage of a project, its actual usage, and its limits (-1: none).

    Limits per server, group or user are not counted here.
    """
    if user:
        _show_user(deployment, project, user, as_json=as_json)
        return
    with deployment.api_database.read() as session:
        used = rows.usage(session, project)
        has = {
            **dict.fromkeys(rows.RESOURCES, 0),
            **rows.counted(session, project).get(project, {}),
        }
        limits = rows.limits(session, project, dict(deployment.conf.quota))
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


def _show_user(deployment: Deployment, project: str, user: str, *, as_json: bool) -> None:
    defaults = {name: deployment.conf.quota[name] for name in rows.RESOURCES}
    with deployment.api_database.read() as session:
        has = rows.usage_of_user(session, project, user)
        limits = rows.bounds(session, project, defaults, user_id=user)
    table = [{"resource": name, "has": has[name], "limit": limits[name]} for name in rows.RESOURCES]
    show_rows(table, ("resource", "has", "limit"), as_json=as_json)


@quota.command()
@click.option("--repair", is_flag=True, help="Set the usage of these projects to the actual one.")
@json_option
@pass_deployment
def audit(deployment: Deployment, *, repair: bool, as_json: bool) -> None:
    """Find projects whose recorded usage differs from the sum of their servers and groups.

    Both are read at one moment, so running requests are not reported; and projects may go on using
    their quota during a recount. Exits with 0 when there are none (with --repair: any more), else
    with 1.
    """
    database = deployment.api_database
    found = database.query(rows.differences)
    if repair:
        found = {project: database.write(rows.recount, project) for project in found}
    if as_json:
        differences = {project: difference._asdict() for project, difference in found.items()}
        show_one({"differences": differences, "repaired": repair}, as_json=True)
    elif found:
        show_rows(_table(found), ("project", "resource", "charged", "has"), as_json=False)
    else:
        click.echo("the usage of all projects is correct")
    if found and not repair:
        click.get_current_context().exit(1)


def _table(found: dict[str, QuotaDifference]) -> list[dict[str, object]]:
    return [
        {"project": project, "resource": name, "charged": used[name], "has": counted[name]}
        for project, (used, counted) in found.items()
        for name in rows.RESOURCES
        if used[name] != counted[name]
    ]
