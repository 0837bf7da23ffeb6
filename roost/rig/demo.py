"""What ``make rig`` shows: ten servers through two cells, step by step, and two that move.

The build of one fails on its first host, and another one is resized.

Everything is asked of the REST API; the rig itself is one other process.
"""

import collections
import json
import pathlib
import time
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.panel import Panel

from roost import concurrency, exception
from roost.rig import boots, clouds, lifecycle, screen, timeline
from roost.rig.boots import BootRequest, WatchedServer
from roost.rig.client import Client, client_of
from roost.rig.install import IMAGE
from roost.rig.plan import Plan, new_plan
from roost.rig.timeline import BootTimeline

CELLS = 2
HOSTS = 3
SERVERS = 10
TIMEOUT = 60
LARGER = "m1.small"
TRIES = 6  # servers booted to see one land on a host that fails


def run(state: pathlib.Path, *, keep: bool, console: Console) -> bool:
    """Show the rig; return whether every server became ACTIVE and one was rescheduled."""
    _end_the_one_before(state, console)
    plan = new_plan(state, cells=CELLS, hosts=HOSTS)
    console.print(_welcome(plan))
    kept = False
    try:
        with screen.steps(
            console, f"starting {CELLS} cells of {HOSTS} hosts in one process"
        ) as say:
            lifecycle.up(plan, mode=concurrency.THREADING, say=say)
        well = _show(plan, console)
        kept = keep
    finally:
        if not kept:
            with screen.steps(console, "ending the rig") as say:
                lifecycle.down(plan, say=say)
    if kept:
        console.print(_how_to_use(plan))
    return well


def _show(plan: Plan, console: Console) -> bool:
    client = client_of(plan)
    request = BootRequest(
        flavor=boots.choose(client.flavors(), "m1.tiny", "flavor"),
        image=boots.choose(client.images(), IMAGE, "image"),
    )
    console.rule(f"booting {SERVERS} servers", align="left")
    with screen.progress(console, SERVERS) as show:
        servers = boots.boot(client, request, count=SERVERS, timeout=TIMEOUT, show=show)
    lines = [timeline_of(plan, client, server) for server in servers]
    for line in lines:
        console.print(timeline.render(line))
    console.print(timeline.summary(lines))
    screen.report(console, plan, servers)
    moved = _reschedule(plan, client, request, servers, console)
    resized = _resize(client, servers[0], console)
    well = all(server.state == "ACTIVE" for server in servers)
    console.print(_verdict(servers, moved))
    return well and resized and moved is not None and moved.state == "ACTIVE"


def timeline_of(plan: Plan, client: Client, server: WatchedServer) -> BootTimeline:
    """Ask for the steps of a server's boot."""
    return BootTimeline(
        name=server.name,
        state=server.state,
        cell=plan.cell_of(server.host),
        host=server.host,
        events=client.boot_events(server.id),
    )


def failing_hosts(plan: Plan, servers: Sequence[WatchedServer]) -> list[str]:
    """Return the emptiest hosts, where the next server goes; each cell keeps one that works."""
    load = collections.Counter(server.host for server in servers)
    failing = []
    for cell in plan.cell_names:
        by_load = sorted(plan.hosts_of(cell), key=lambda host: load[host])
        failing += by_load[:-1]
    return failing


def _reschedule(
    plan: Plan,
    client: Client,
    request: BootRequest,
    servers: Sequence[WatchedServer],
    console: Console,
) -> BootTimeline | None:
    """Let hosts fail in the middle of a build until a server had to move; return its story."""
    failing = failing_hosts(plan, servers)
    console.rule(
        f"a reschedule: {', '.join(failing)} now fail when they start a guest", align="left"
    )
    rules = [{"step": "spawn", "host": host, "kind": "reschedulable"} for host in failing]
    plan.faults_file.write_text(json.dumps(rules))
    try:
        for number in range(1, TRIES + 1):
            unlucky = BootRequest(request.flavor, request.image, prefix=f"unlucky-{number}")
            (server,) = boots.boot(client, unlucky, count=1, timeout=TIMEOUT)
            line = timeline_of(plan, client, server)
            if len(line.hosts_tried) > 1:
                console.print(timeline.render(line))
                return line
            console.print(f"{server.name} met no failing host; another one")
    finally:
        plan.faults_file.unlink()
    return None


def _resize(client: Client, server: WatchedServer, console: Console) -> bool:
    """Give a server a larger flavor on another host; return whether it is ACTIVE with that."""
    larger = boots.choose(client.flavors(), LARGER, "flavor")
    console.rule(f"a resize: {server.name} gets the flavor {LARGER}", align="left")
    well = True
    for action, status in (
        ({"resize": {"flavorRef": larger}}, "VERIFY_RESIZE"),
        ({"confirmResize": None}, "ACTIVE"),
    ):
        began = time.monotonic()
        client.act(server.id, action)
        found = _wait_at_rest(client, server.id)
        well = well and found["status"] == status
        console.print(
            f"{next(iter(action)):<15} {found['status']:<15} {found['OS-EXT-SRV-ATTR:host']:<15}"
            f" {time.monotonic() - began:.2f} s"
        )
    return well


def _wait_at_rest(client: Client, server_id: str) -> dict[str, Any]:
    """Return a server once nothing is done to it, or after a while."""
    until = time.monotonic() + TIMEOUT
    found = client.server(server_id)
    while found["OS-EXT-STS:task_state"] is not None and time.monotonic() < until:
        time.sleep(0.05)
        found = client.server(server_id)
    return found


def _end_the_one_before(state: pathlib.Path, console: Console) -> None:
    try:
        before = Plan.load(state)
    except exception.NotFound:
        return
    if not before.embedded:
        lifecycle.check_vacant(state)
    with screen.steps(console, "ending the rig from before") as say:
        lifecycle.down(before, say=say)


def _welcome(plan: Plan) -> Panel:
    return Panel(
        "[bold]Roost[/]: a compute control plane\n"
        f"{CELLS} cells, {HOSTS} hosts each, all daemons in one process: in-memory bus, SQLite,"
        f" fake hypervisors\n[dim]{plan.endpoint}, files in {plan.state}[/]",
        expand=False,
    )


def _verdict(servers: Sequence[WatchedServer], moved: BootTimeline | None) -> str:
    active = sum(server.state == "ACTIVE" for server in servers)
    counted = f"{active} of {len(servers)} servers are ACTIVE"
    if moved is None:
        return f"[red]✗[/] {counted}; no reschedule was seen"
    failed, last = ", ".join(moved.hosts_tried[:-1]), moved.hosts_tried[-1]
    mark = "[green]✓[/]" if active == len(servers) and moved.state == "ACTIVE" else "[red]✗[/]"
    return f"{mark} {counted}; {moved.name} failed on {failed} and is {moved.state} on {last}"


def _how_to_use(plan: Plan) -> Panel:
    lines = "\n".join(clouds.hints(plan))
    return Panel(lines, title=f"it runs: {plan.endpoint}", title_align="left", expand=False)
