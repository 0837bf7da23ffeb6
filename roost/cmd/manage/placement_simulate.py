"""``roost-manage placement simulate``: compares scheduler configurations on a fleet and a trace."""

import functools
import pathlib
from collections.abc import Mapping, Sequence
from typing import Final

import click
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from roost.cmd.manage import placement_runs
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option
from roost.scheduler.columns import Ints
from roost.scheduler.drivers import Driver
from roost.scheduler.simulation import amounts, course, inventory, plot, trace
from roost.scheduler.simulation.course import Window
from roost.scheduler.simulation.report import NAMES
from roost.scheduler.simulation.study import POINTS, Study, StudyRun
from roost.scheduler.simulation.trace import Trace

_FILE: Final = click.Path(exists=True, dir_okay=False, path_type=pathlib.Path)
_OUT: Final = click.Path(dir_okay=False, writable=True, path_type=pathlib.Path)
_POLICIES: Final = ("affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity")


def _pairs(
    _context: click.Context, _option: click.Parameter, values: Sequence[str]
) -> dict[str, str]:
    """Read ``for=NAME``."""
    pairs = dict(value.partition("=")[::2] for value in values)
    for what, name in pairs.items():
        if what not in trace.COLUMNS or not name:
            raise click.BadParameter(
                f"{what!r} must be one of {', '.join(trace.COLUMNS)}, then = and a column's name"
            )
    return pairs


def _sizes(_context: click.Context, _option: click.Parameter, value: str | None) -> Ints | None:
    """Read ``CORES,RAM`` or ``CORES,RAM,DISK``."""
    if value is None:
        return None
    sizes = value.split(",")
    if len(sizes) not in (2, 3):
        raise click.BadParameter(f"{value!r} must be cores, comma, ram, such as 2,4096")
    try:
        found = [amounts.demand(size.strip()) for size in sizes]
    except ValueError as error:
        raise click.BadParameter(str(error)) from error
    return np.array([*found, 0][: len(NAMES)], dtype=np.int64)


@click.command()
@click.argument("trace_file", metavar="TRACE", type=_FILE)
@click.argument("inventory_file", metavar="INVENTORY", type=_FILE)
@click.option("--driver", "drivers", multiple=True, help="The scheduler driver; may be repeated.")
@click.option(
    "--profile",
    "profiles",
    multiple=True,
    type=click.Choice(["spread", "pack", "none"]),
    help="Place by these weighers; may be repeated.",
)
@click.option(
    "--weighers",
    "weights",
    multiple=True,
    help="Place by weighers of your own, such as ram=1.0,cpu=-0.5; may be repeated.",
)
@click.option("--filters", help="The filters, separated by commas.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="FOR=NAME",
    callback=_pairs,
    help=f"The column of a field: {', '.join(trace.COLUMNS)}. Others are found by name.",
)
@click.option(
    "--group-policy",
    "policy",
    type=click.Choice(_POLICIES),
    help="Let VMs of the same group be a server group of this policy. Left out: no groups.",
)
@click.option(
    "--reference",
    metavar="CORES,RAM[,DISK]",
    callback=_sizes,
    help="Capacity that this VM cannot use counts as stranded. Left out: the median VM.",
)
@click.option("--since", type=float, help="Count from then on. Left out: 0, or the first arrival.")
@click.option("--until", type=float, help="Count until then. Left out: the last arrival.")
@click.option("--seed", default=1, show_default=True, help="The seed of random choices.")
@click.option("--csv", "csv_file", type=_OUT, help="Write samples over time to this file.")
@click.option("--plot", "plot_file", type=_OUT, help="Plot them, by matplotlib: .png, .svg, .pdf.")
@click.option(
    "--points",
    type=click.IntRange(2),
    default=POINTS,
    show_default=True,
    help="Number of samples of --csv and --plot.",
)
@json_option
@pass_deployment
def simulate(
    deployment: Deployment,
    *,
    trace_file: pathlib.Path,
    inventory_file: pathlib.Path,
    drivers: Sequence[str],
    profiles: Sequence[str],
    weights: Sequence[str],
    filters: str | None,
    columns: Mapping[str, str],
    policy: str | None,
    reference: Ints | None,
    since: float | None,
    until: float | None,
    seed: int,
    csv_file: pathlib.Path | None,
    plot_file: pathlib.Path | None,
    points: int,
    as_json: bool,
) -> None:
    """Place the VMs of a TRACE on the hosts of an INVENTORY, in memory, and report the results.

    TRACE is a CSV file, which may be gzipped: arrival, departure, cores and ram of each VM,
    optionally disk, group, zone and count. INVENTORY is a JSON file of host kinds: count, cores,
    ram, optionally name, disk, cpu_ratio, ram_ratio, disk_ratio and zone. Units are your choice.

    Each --profile and each --weighers is run with each --driver, side by side. Left out, they are
    as configured in [scheduler]. No database and no daemon is needed.
    """
    if plot_file:
        plot.check()
    ways = placement_runs.ways(
        deployment.conf.scheduler,
        drivers=drivers,
        profiles=profiles,
        weights=weights,
        filters=filters,
    )
    read = trace.read(trace_file, columns=columns)
    study = Study(
        trace=read,
        kinds=inventory.read(inventory_file),
        window=_window(read, since, until),
        reference=course.typical(read) if reference is None else reference,
        policy=policy,
        seed=seed,
        points=points,
    )
    runs = _run(study, ways)
    placement_runs.show(study.outline(), runs, as_json=as_json)
    if csv_file:
        placement_runs.write(csv_file, runs)
    if plot_file:
        series = {name: run.series for name, run in runs.items()}
        plot.draw(plot_file, series, hosts=study.outline().hosts)


def _window(read: Trace, since: float | None, until: float | None) -> Window:
    usual = Window.of(read)
    end = usual.end if until is None else until
    start = min(usual.start, end) if since is None else since
    if start > end:
        raise click.UsageError(f"--since {start:g} is after --until {end:g}")
    return Window(start, end)


def _run(study: Study, ways: Mapping[str, Driver]) -> dict[str, StudyRun]:
    runs = {}
    with _progress() as progress:
        for name, driver in ways.items():
            task = progress.add_task(name, total=len(study.trace))
            runs[name] = study.run(driver, progress=functools.partial(progress.advance, task))
    return runs


def _progress() -> Progress:
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
