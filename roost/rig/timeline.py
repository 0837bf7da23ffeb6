"""How a server's boot went, step by step: who did what where, when, and for how long."""

import dataclasses
import datetime
from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from roost.rig.client import Event

BAR = 24  # characters
COLOURS = {
    "api": "cyan",
    "super-conductor": "magenta",
    "scheduler": "yellow",
    "cell-conductor": "blue",
    "compute": "green",
}


@dataclasses.dataclass(frozen=True)
class BootTimeline:
    """The boot of one server; times in milliseconds since its first step."""

    name: str
    state: str
    cell: str
    host: str
    events: Sequence[Event]

    @property
    def began(self) -> datetime.datetime:
        return min(event.start for event in self.events)

    @property
    def total_ms(self) -> float:
        ends = [event.finish or event.start for event in self.events]
        return _ms(max(ends) - self.began)

    def offset_ms(self, event: Event) -> float:
        return _ms(event.start - self.began)

    @property
    def hosts_tried(self) -> list[str]:
        """The hosts that worked on it, in order."""
        hosts = [event.host for event in self.events if event.who == "compute" and event.host]
        return list(dict.fromkeys(hosts))


def render(timeline: BootTimeline) -> RenderableType:
    """Draw a timeline as a title and a table with bars."""
    if not timeline.events:
        return Group(_title(timeline, took=""), Text("  no steps are known", style="dim"))
    table = Table(box=None, padding=(0, 1), pad_edge=False, show_header=False)
    table.add_column(justify="right", style="dim", min_width=9)
    table.add_column(min_width=15)
    table.add_column(min_width=24)
    table.add_column(min_width=11)
    table.add_column(justify="right", min_width=8)
    table.add_column(no_wrap=True, min_width=BAR)
    for event in timeline.events:
        table.add_row(*_row(timeline, event))
        if event.failed and event.details:
            table.add_row("", "", Text(event.details.strip().splitlines()[0], style="red"))
    table.add_row(f"+{timeline.total_ms:.0f} ms", _state(timeline.state))
    return Group(_title(timeline, took=f" in {timeline.total_ms:.0f} ms"), table, Text())


def summary(timelines: Sequence[BootTimeline]) -> Table:
    """Draw one line per server: where it is, and how long it took."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("server", "state", "cell", "host"):
        table.add_column(heading)
    table.add_column("ms", justify="right")
    for timeline in timelines:
        took = f"{timeline.total_ms:.0f}" if timeline.events else "?"
        table.add_row(
            timeline.name, _state(timeline.state), timeline.cell, timeline.host or "-", took
        )
    return table


def _title(timeline: BootTimeline, took: str) -> Text:
    title = Text()
    title.append(timeline.name, style="bold")
    title.append("  ").append_text(_state(timeline.state)).append(took)
    title.append(f"  on {timeline.host or 'no host'}, {timeline.cell}", style="dim")
    return title


def _row(timeline: BootTimeline, event: Event) -> list[RenderableType]:
    colour = "red" if event.failed else COLOURS.get(event.who, "white")
    lasted = _ms(event.finish - event.start) if event.finish else 0.0
    return [
        f"+{timeline.offset_ms(event):.0f} ms",
        Text(event.who, style=colour),
        event.step + (" FAILED" if event.failed else ""),
        event.host,
        f"{lasted:.1f} ms",
        Text(_bar(timeline, event, lasted), style=colour),
    ]


def _bar(timeline: BootTimeline, event: Event, lasted: float) -> str:
    scale = BAR / max(timeline.total_ms, 1)
    before = min(BAR - 1, int(timeline.offset_ms(event) * scale))
    length = max(1, min(BAR - before, round(lasted * scale)))
    return " " * before + "━" * length


def _state(state: str) -> Text:
    colours = {"ACTIVE": "bold green", "ERROR": "bold red"}
    return Text(state, style=colours.get(state, "yellow"))


def _ms(span: datetime.timedelta) -> float:
    return span.total_seconds() * 1000
