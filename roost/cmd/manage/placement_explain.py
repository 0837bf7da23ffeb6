"""``roost-manage placement explain``: which hosts would be chosen, or why none. Claims nothing."""

import collections
from collections.abc import Mapping
from typing import Any, Final

import click

from roost.cmd.manage import placement_request
from roost.cmd.manage.arguments import host_and_node
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_one, show_rows
from roost.cmd.manage.placement_request import RequestOptions
from roost.context import admin_context
from roost.objects import Explanation, FilterVerdict, RankedHost
from roost.objects.explanation import plain

_FILTERS: Final = ("filter", "asked", "refused", "reasons", "nearest_miss")


@click.command()
@click.option("--server", metavar="UUID", help="Repeat the request of this server.")
@click.option("--flavor", metavar="ID|NAME", help="Servers of this size.")
@click.option("--image", metavar="ID|NAME", help="Created from this image. Default: any.")
@click.option("--project", default="admin", show_default=True, help="For this project.")
@click.option("--zone", help="In this availability zone.")
@click.option("--host", help="On this host, if it passes all filters.")
@click.option("--force", is_flag=True, help="On --host, without filters if it has the capacity.")
@click.option("--aggregate", metavar="ID|NAME|UUID", help="In this aggregate.")
@click.option("--group", metavar="UUID", help="As members of this server group.")
@click.option(
    "--network",
    metavar="NAME|none",
    multiple=True,
    help="On this network; may be repeated. Default: the default network.",
)
@click.option(
    "--label",
    "labels",
    metavar="KEY=VALUE",
    multiple=True,
    help="On a host with this label, such as pool=fast; may be repeated.",
)
@click.option(
    "--prefer",
    "preferred",
    metavar="KEY=VALUE",
    multiple=True,
    help="Rather on a host with this label; may be repeated.",
)
@click.option(
    "--hint",
    "hints",
    metavar="KEY=VALUE",
    multiple=True,
    help="A scheduler hint; may be repeated.",
)
@click.option(
    "--count", type=click.IntRange(1), default=1, show_default=True, help="Number of servers."
)
@json_option
@pass_deployment
def explain(
    deployment: Deployment,
    /,
    *,
    server: str | None,
    flavor: str | None,
    count: int,
    as_json: bool,
    **more: Any,
) -> None:
    """Simulate a request for servers: each filter in its order, then the best hosts.

    Give a --flavor, and the other options of a request; or a --server, whatever its state. Options
    that otherwise only roost-api reads ([pci] alias, [network] local_networks) must be as there.

    Exits with 0 when all servers would find a host, else with 1.
    """
    if (server is None) == (flavor is None):
        raise click.UsageError("Name either a --flavor or a --server.")
    if server is not None:
        spec = placement_request.of_server(deployment, server)
    else:
        asked = RequestOptions(flavor=str(flavor), **more)
        spec = placement_request.of_options(deployment, asked, count=count)
    found = deployment.answering_scheduler.explain(
        admin_context(), request_spec=spec, instances=count
    )
    cells = {cell.uuid: cell.name for cell in deployment.cells.all()}
    if as_json:
        show_one(_as_json(found, cells), as_json=True)
    else:
        _tell(found, cells)
    if found.sentence:
        click.get_current_context().exit(1)


def _tell(found: Explanation, cells: Mapping[str, str]) -> None:
    click.echo(f"The schedulers know {_many(found.hosts, 'host')}. The filters, in order:")
    show_rows([_filter_row(verdict) for verdict in found.verdicts], _FILTERS, as_json=False)
    if found.ranked:
        click.echo("The best hosts, with what each weigher adds to their score:")
        rows = [_host_row(ranked, cells) for ranked in found.ranked]
        show_rows(rows, list(rows[0]), as_json=False)
    click.echo(found.sentence or _placed(found))


def _filter_row(verdict: FilterVerdict) -> dict[str, Any]:
    nearest = verdict.nearest
    return {
        "filter": verdict.filter,
        "asked": verdict.asked,
        "refused": sum(verdict.reasons.values()),
        "reasons": [f"{count}: {reason}" for reason, count in verdict.reasons.items()],
        "nearest_miss": f"{host_and_node(nearest.host, nearest.node)}: {nearest.lacks}"
        if nearest
        else "",
    }


def _host_row(ranked: RankedHost, cells: Mapping[str, str]) -> dict[str, Any]:
    return {
        "host": host_and_node(ranked.host, ranked.node),
        "cell": cells.get(ranked.cell_uuid, ranked.cell_uuid),
        "score": f"{ranked.score:.3f}",
        **{weigher: f"{weight:.3f}" for weigher, weight in ranked.weights.items()},
    }


def _placed(found: Explanation) -> str:
    hosts = collections.Counter(host_and_node(place.host, place.node) for place in found.chosen)
    if len(hosts) == 1:
        places = "on " + next(iter(hosts))
    else:
        places = ", ".join(f"{count} on {host}" for host, count in hosts.items())
    return f"{_many(found.wanted, 'server')} would be placed: {places}"


def _as_json(found: Explanation, cells: Mapping[str, str]) -> dict[str, Any]:
    return {
        "wanted": found.wanted,
        "fitting": found.fitting,
        "hosts": found.hosts,
        "filters": [plain(verdict) for verdict in found.verdicts],
        "ranked": [
            {**_where(ranked, cells), "score": ranked.score, "weights": dict(ranked.weights)}
            for ranked in found.ranked
        ],
        "chosen": [_where(place, cells) for place in found.chosen],
        "sentence": found.sentence,
    }


def _where(place: Any, cells: Mapping[str, str]) -> dict[str, Any]:
    """Return cell, host and node of a Selection or RankedHost."""
    return {
        "host": place.host,
        "node": place.node,
        "cell": cells.get(place.cell_uuid),
        "cell_uuid": place.cell_uuid,
    }


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
