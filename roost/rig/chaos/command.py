"""The command ``roost-rig chaos``."""

import contextlib
import json
import pathlib
import shlex
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from roost.rig import screen
from roost.rig.chaos import report, schedule
from roost.rig.chaos.arena import DATABASES, Size
from roost.rig.chaos.report import ChaosOutcome
from roost.rig.chaos.run import ChaosOptions, Screen, run
from roost.rig.plan import new_plan
from roost.rig.settings import parse_settings

_PROGRESS_SECONDS = 30.0  # between two lines of progress where there is no terminal
_POSITIVE = click.FloatRange(0, min_open=True)
_STANDARD_OUTPUT = "-"
_OPTIONS = (
    click.option(
        "--state",
        type=click.Path(file_okay=False, path_type=pathlib.Path),
        default=pathlib.Path(".chaos"),
        show_default=True,
        help="The rig's folder: it stays when an invariant was broken.",
    ),
    click.option(
        "--seed", type=int, default=1, show_default=True, help="What everything is drawn from."
    ),
    click.option("--minutes", type=_POSITIVE, default=5, show_default=True, help="Of storm."),
    click.option(
        "--db",
        "database",
        type=click.Choice(DATABASES),
        default=DATABASES[0],
        show_default=True,
        help="Which database server to start for this run.",
    ),
    click.option("--cells", type=click.IntRange(1), default=2, show_default=True),
    click.option(
        "--hosts", type=click.IntRange(1), default=2, show_default=True, help="In each cell."
    ),
    click.option(
        "--copies",
        type=click.IntRange(1),
        default=2,
        show_default=True,
        help="Schedulers, super-conductors, and conductors of each cell.",
    ),
    click.option(
        "--boots-per-minute", type=_POSITIVE, default=20, show_default=True, help="On average."
    ),
    click.option("--faults-per-minute", type=click.FloatRange(0), default=4, show_default=True),
    click.option(
        "--only",
        metavar="KIND,...",
        default="",
        help=f"Of {', '.join(schedule.KINDS)}, only these.",
    ),
    click.option("--without", metavar="KIND,...", default="", help="All but these."),
    click.option(
        "--patience",
        type=_POSITIVE,
        default=120,
        show_default=True,
        help="Seconds after the last healing in which everything must be right.",
    ),
    click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="GROUP.OPTION=VALUE",
        help="An option for all daemons; may be repeated.",
    ),
    click.option(
        "--json",
        "json_file",
        type=click.Path(dir_okay=False, allow_dash=True),
        metavar="FILE",
        help="Write the report as JSON, too; - writes it to the standard output, and all else to"
        " the standard error.",
    ),
    click.option("--report-memory", is_flag=True, help="Show the memory of each daemon."),
    click.option("--dry-run", is_flag=True, help="Show what would break when; break nothing."),
    click.option("--keep", is_flag=True, help="Leave the rig running until interrupted."),
)


def _with_options(function: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@click.command("chaos")
@_with_options
def chaos(
    *,
    state: pathlib.Path,
    json_file: str | None,
    report_memory: bool,
    dry_run: bool,
    keep: bool,
    **drawn: Any,
) -> None:
    """Break a rig on purpose, then prove that nothing was lost, doubled or leaked.

    The rig stands on a RabbitMQ and a database server of its own, for they are restarted and wiped.
    The same seed breaks the same things at the same times. Exits with 1 unless all invariants held.
    """
    options = _options(**drawn)
    console = _console(json_file)
    if dry_run:
        _show_schedule(console, options, state)
        return
    with _shown(console, f"chaos of seed {options.seed}") as progress:
        outcome = run(options, state, progress, keep=keep)
    report.show(console, outcome, with_memory=report_memory)
    _write(outcome, json_file)
    _tell_verdict(console, outcome, state)
    if not outcome.held:
        sys.exit(1)


def _options(
    *,
    database: str,
    cells: int,
    hosts: int,
    copies: int,
    only: str,
    without: str,
    settings: tuple[str, ...],
    **numbers: Any,
) -> ChaosOptions:
    size = Size(cells, hosts, copies, database, parse_settings(settings))
    return ChaosOptions(
        kinds=schedule.choose(_words(only), _words(without)),
        size=size,
        command=shlex.join(["roost-rig", *sys.argv[1:]]),
        **numbers,
    )


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _console(json_file: str | None) -> Console:
    if json_file == _STANDARD_OUTPUT:
        return Console(stderr=True, highlight=False, width=screen.WIDTH)
    return screen.console()


def _show_schedule(console: Console, options: ChaosOptions, state: pathlib.Path) -> None:
    size = options.size
    plan = new_plan(state, cells=size.cells, hosts=size.hosts, copies=size.copies)
    table = Table(box=None, pad_edge=False)
    for heading in ("at s", "lasts s"):
        table.add_column(heading, justify="right")
    table.add_column("what breaks")
    for fault in options.faults(schedule.FaultTargets.of(plan)):
        table.add_row(f"{fault.at:.1f}", f"{fault.lasts:.1f}", str(fault))
    console.print(table)
    asked = sum(request.count for request in options.wishes())
    console.print(f"{asked} servers would be asked for in {options.minutes:g} minutes")


@contextlib.contextmanager
def _shown(console: Console, title: str) -> Iterator[Screen]:
    """Show progress: a line at the bottom of a terminal; without one a line now and then."""
    if not console.is_terminal:
        yield Screen(tell=console.print, say=_seldom(console))
        return
    with console.status(title) as status:
        yield Screen(tell=console.print, say=lambda now: status.update(escape(f"{title}: {now}")))


def _seldom(console: Console) -> Callable[[str], None]:
    last = [0.0]

    def say(now: str) -> None:
        if time.monotonic() - last[0] > _PROGRESS_SECONDS:
            last[0] = time.monotonic()
            console.print(escape(now), soft_wrap=True)

    return say


def _write(outcome: ChaosOutcome, json_file: str | None) -> None:
    if json_file is None:
        return
    text = json.dumps(report.as_json(outcome), indent=2)
    if json_file == _STANDARD_OUTPUT:
        click.echo(text)
    else:
        pathlib.Path(json_file).write_text(text + "\n")


def _tell_verdict(console: Console, outcome: ChaosOutcome, state: pathlib.Path) -> None:
    if outcome.held:
        console.print(
            f"[green]✓[/] seed {outcome.seed}: nothing lost, doubled, leaked, unexplained"
        )
        return
    console.print(f"[red]✗[/] seed {outcome.seed}: {len(outcome.items)} things should not be")
    console.print(f"  again: {escape(outcome.command)}", soft_wrap=True)
    console.print(f"  logs: {state}/log, sorted by thing: {state}/evidence", soft_wrap=True)
