"""What the rig's commands show while they work, on a terminal and without one."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from roost.rig import boots
from roost.rig.boots import WatchedServer
from roost.rig.plan import Plan

WIDTH = 110  # without a terminal
BAR = 40


def console() -> Console:
    """Return the console; without a terminal its lines are wide enough for timelines."""
    made = Console(highlight=False)
    return made if made.is_terminal else Console(highlight=False, width=WIDTH)


@contextlib.contextmanager
def steps(screen: Console, title: str) -> Iterator[Callable[[str], None]]:
    """Show what is being done: a spinner on a terminal, else a line each."""
    began = time.monotonic()
    if not screen.is_terminal:
        yield lambda step: screen.print(f"{title}: {step}")
    else:
        with screen.status(title) as status:
            yield lambda step: status.update(f"{title}: {step}")
    screen.print(f"[green]✓[/] {title} [dim]({time.monotonic() - began:.1f} s)[/]")


@contextlib.contextmanager
def progress(screen: Console, count: int) -> Iterator[boots.Progress]:
    """Show servers on their way: a bar and a list on a terminal, else a line per change."""
    if not screen.is_terminal:
        yield _lines(screen, count)
        return
    with Live(console=screen, refresh_per_second=8) as live:
        yield lambda servers: live.update(_picture(servers, count))


def report(screen: Console, plan: Plan, servers: Sequence[WatchedServer]) -> None:
    """Print states, where the servers are, how long they took, and what went wrong."""
    times = [server.seconds for server in servers if server.seconds is not None]
    accepted = [server.accepted - server.asked for server in servers]
    screen.print(f"states    {_counts(boots.states(servers))}")
    screen.print(f"cells     {_counts(_cells(plan, servers))}")
    screen.print(f"hosts     {_counts(boots.spread(servers))}")
    screen.print(f"accepted  {_percentiles(accepted)}")
    screen.print(f"done      {_percentiles(times)}")
    for server in servers:
        if server.fault:
            screen.print(Text(f"{server.name}: {server.fault}", style="red"))


def _lines(screen: Console, count: int) -> boots.Progress:
    last = [""]

    def show(servers: Sequence[WatchedServer]) -> None:
        done = sum(server.done is not None for server in servers)
        line = f"  {done}/{count} done: {_counts(boots.states(servers))}"
        if line != last[0]:
            last[0] = line
            screen.print(line)

    return show


def _picture(servers: Sequence[WatchedServer], count: int) -> RenderableType:
    done = sum(server.done is not None for server in servers)
    bar = Table.grid(padding=(0, 1))
    bar.add_row(
        ProgressBar(total=count, completed=done, width=BAR), f"{done}/{count}",
        _counts(boots.states(servers)),
    )  # fmt: skip
    return Group(bar, Text(f"  {_counts(boots.spread(servers)) or 'no host yet'}", style="dim"))


def _cells(plan: Plan, servers: Sequence[WatchedServer]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for host, count in boots.spread(servers).items():
        cell = plan.cell_of(host)
        counts[cell] = counts.get(cell, 0) + count
    return counts


def _counts(counts: dict[str, int]) -> str:
    return "  ".join(f"{name} {count}" for name, count in counts.items())


def _percentiles(seconds: Sequence[float]) -> str:
    marks = {"p50": 50.0, "p95": 95.0, "max": 100.0}
    return "  ".join(
        f"{name} {boots.percentile(seconds, percent) * 1000:.0f} ms"
        for name, percent in marks.items()
    )
