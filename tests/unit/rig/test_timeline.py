"""How a boot is told to people."""

import datetime
import io

from rich.console import Console

from roost.rig.client import Event
from roost.rig.timeline import BootTimeline, render

BEGAN = datetime.datetime(2026, 11, 21, 12, 0, tzinfo=datetime.UTC)


def an_event(name, *, at, lasting=5, host="", failed=None):
    start = BEGAN + datetime.timedelta(milliseconds=at)
    return Event(
        name=name,
        host=host,
        start=start,
        finish=start + datetime.timedelta(milliseconds=lasting),
        result="Error" if failed else "Success",
        details=failed or "",
    )


def a_timeline(*events, state="ACTIVE"):
    return BootTimeline(name="rig-01", state=state, cell="cell1", host="cell1-host2", events=events)


def drawn(what):
    text = io.StringIO()
    Console(file=text, width=110).print(what)
    return text.getvalue()


ONE = a_timeline(
    an_event("api.accept", at=0, lasting=0),
    an_event("scheduler.select_destinations", at=20, host="super-conductor"),
    an_event("compute.spawn", at=100, lasting=20, host="cell1-host2"),
)
MOVED = a_timeline(
    an_event("compute.spawn", at=0, host="cell1-host1", failed="no luck here\nand more"),
    an_event("compute.spawn", at=50, host="cell1-host2"),
)


def test_every_step_is_a_line_with_its_time_and_host():
    lines = drawn(render(ONE)).splitlines()
    (spawn,) = [line for line in lines if "spawn" in line]
    assert spawn.split()[:6] == ["+100", "ms", "compute", "spawn", "cell1-host2", "20.0"]


def test_a_failed_step_says_why_in_a_line():
    text = drawn(render(MOVED))
    assert "spawn FAILED" in text
    assert "no luck here" in text
    assert "and more" not in text
