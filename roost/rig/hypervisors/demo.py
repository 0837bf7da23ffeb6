"""What ``make rig DRIVER=libvirt`` shows: servers of two cells that say themselves who they are.

Everything is asked of the REST API: of each server its address, and its console, where its own
system tells which one it has, and what the metadata service has told it.
"""

import dataclasses
import logging
import pathlib
import re
import time
from collections.abc import Callable, Sequence
from typing import Final

from rich import box
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from roost import concurrency
from roost.rig import backing, boots, clouds, lifecycle, screen
from roost.rig.boots import BootRequest, WatchedServer
from roost.rig.client import Client
from roost.rig.hypervisors import hosts, leftovers
from roost.rig.install import usual
from roost.rig.plan import LIBVIRT, Plan, new_plan

CELLS: Final = 2
HOSTS: Final = 1  # in each: a machine of two CPUs emulates as much in some 20 seconds
SERVERS: Final = 4
TIMEOUT: Final = 240.0  # seconds, for machines that have much else to do
_LOOK: Final = 0.5
_UUID: Final = 36  # characters
_SAYS: Final = {
    "metadata": re.compile(r"guest: metadata of ([0-9a-f-]+)"),
    "address": re.compile(r"guest: address ([0-9.]+)"),
    "ready": re.compile(r"guest: (ready)"),
}


@dataclasses.dataclass
class DemoGuest:
    """A server, and what its guest says of itself; ``seconds`` until it was ready."""

    server: WatchedServer
    address: str = ""
    says: dict[str, str] = dataclasses.field(default_factory=dict)
    seconds: float | None = None

    @property
    def right(self) -> bool:
        """Whether it is who the API says that it is."""
        return (
            self.says.get("metadata") == self.server.id
            and bool(self.address)
            and (self.says.get("address") == self.address)
        )


def run(state: pathlib.Path, cache: pathlib.Path, *, keep: bool, console: Console) -> bool:
    """Show the rig; return whether all guests were who they should be, and left nothing.

    :param keep: leave it running, with its servers
    :raises roost.exception.Invalid: when there can be no real guests here
    """
    hosts.check_wish(
        hosts=CELLS * HOSTS, embedded=False, mode=concurrency.THREADING, inventory=False
    )
    lifecycle.check_vacant(state)
    # connections of this process outlive the virtual hosts that it removes in the end
    logging.getLogger("oslo.messaging._drivers.impl_rabbit").setLevel(logging.ERROR)
    plan = _plan(state, cache, console)
    console.print(_welcome(plan))
    kept = False
    try:
        with screen.steps(console, f"starting {CELLS} cells, {HOSTS} host each") as say:
            lifecycle.up(plan, mode=concurrency.THREADING, say=say)
        client = Client(plan.endpoint)
        well = _boot(plan, client, console)
        kept = keep
        if not kept:
            well = _delete(plan, client, console) and well
    finally:
        if not kept and plan.state.exists():
            with screen.steps(console, "ending the rig") as say:
                lifecycle.down(plan, say=say)
    if kept:
        lines = "\n".join(clouds.hints(plan))
        console.print(Panel(lines, title=f"it runs: {plan.endpoint}", expand=False))
    return well


def _plan(state: pathlib.Path, cache: pathlib.Path, console: Console) -> Plan:
    bus, database = backing.find(bus="rabbitmq", database="postgresql", state=state)
    plan = new_plan(
        state,
        cells=CELLS,
        hosts=HOSTS,
        bus=bus,
        database=database,
        driver=LIBVIRT,
        cache=cache,
        metadata=True,
        consoles=True,
    )
    return backing.with_users(plan, say=console.print)


def _boot(plan: Plan, client: Client, console: Console) -> bool:
    flavor, image = usual(plan)
    request = BootRequest(
        flavor=boots.choose(client.flavors(), flavor, "flavor"),
        image=boots.choose(client.images(), image, "image"),
        prefix="real",
    )
    console.rule(f"booting {SERVERS} servers", align="left")
    with screen.progress(console, SERVERS) as show:
        servers = boots.boot(client, request, count=SERVERS, timeout=TIMEOUT, show=show)
    with screen.steps(console, "listening to their consoles") as say:
        guests = listen(client, servers, timeout=TIMEOUT, say=say)
    console.print(table(guests))
    right = sum(guest.right for guest in guests)
    mark = "[green]✓[/]" if right == SERVERS else "[red]✗[/]"
    console.print(
        f"{mark} {right} of {SERVERS} guests say the uuid and the address that the API says"
    )
    return right == SERVERS


def listen(
    client: Client,
    servers: Sequence[WatchedServer],
    *,
    timeout: float,
    say: Callable[[str], object],
) -> list[DemoGuest]:
    """Listen to the consoles of servers that are ACTIVE until all guests are ready."""
    guests = [DemoGuest(server) for server in servers]
    waited = [guest for guest in guests if guest.server.state == "ACTIVE"]
    for guest in waited:
        guest.address = _address(client, guest.server.id)
    deadline, before = time.monotonic() + timeout, 0
    while silent := [guest for guest in waited if guest.seconds is None]:
        if len(silent) != before:
            say(f"{len(silent)} are not ready yet")
        before = len(silent)
        for guest in silent:
            _hear(client, guest)
        if time.monotonic() > deadline:
            break
        time.sleep(_LOOK)
    return guests


def _hear(client: Client, guest: DemoGuest) -> None:
    path = f"/servers/{guest.server.id}/action"
    said = client.post(path, {"os-getConsoleOutput": {}})["output"]
    found = {name: pattern.findall(said) for name, pattern in _SAYS.items()}
    guest.says = {name: words[-1] for name, words in found.items() if words}
    if "ready" in guest.says:
        guest.seconds = time.monotonic() - guest.server.asked


def _address(client: Client, server_id: str) -> str:
    addresses = client.server(server_id)["addresses"].values()
    return str(next((one["addr"] for network in addresses for one in network), ""))


def table(guests: Sequence[DemoGuest]) -> Table:
    """Draw a line per server: what the API says of it, and what its guest does."""
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("server", "host", "state", "address"):
        drawn.add_column(heading)
    drawn.add_column("the guest: metadata of", min_width=_UUID)
    drawn.add_column("address")
    drawn.add_column("ready s", justify="right")
    for guest in guests:
        server = guest.server
        drawn.add_row(
            server.name,
            server.host,
            server.state,
            guest.address,
            _judged(guest.says.get("metadata"), server.id),
            _judged(guest.says.get("address"), guest.address),
            "" if guest.seconds is None else f"{guest.seconds:.1f}",
        )
    return drawn


def _judged(said: str | None, wanted: str) -> str:
    if said is None:
        return "[red]says nothing[/]"
    return f"[green]{said}[/]" if said == wanted else f"[red]{said}, not {wanted}[/]"


def _delete(plan: Plan, client: Client, console: Console) -> bool:
    with screen.steps(console, "deleting all servers") as say:
        say(f"{SERVERS} are there")
        left = boots.delete_all(client, timeout=TIMEOUT, show=lambda _left: None)
    found = leftovers.look(plan)
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("left on", *leftovers.KINDS):
        drawn.add_column(heading)
    for host, kinds in found.items():
        drawn.add_row(host, *(str(len(kinds[kind])) for kind in leftovers.KINDS))
    console.print(drawn)
    return left == 0 and leftovers.count(found) == 0


def _welcome(plan: Plan) -> Panel:
    return Panel(
        "[bold]Roost[/]: a compute control plane\n"
        f"{CELLS} cells, {HOSTS} host each, which has a libvirtd, a name and links of its own\n"
        f"[dim]{plan.endpoint}, files in {plan.state}[/]",
        expand=False,
    )
