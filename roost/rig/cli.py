"""``roost-rig``: start, show, use, break and end a test rig."""

from roost import concurrency

concurrency.select(mode=concurrency.THREADING)

import os
import pathlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import click

from roost import exception
from roost.rig import backing, boots, clouds, demo, health, lifecycle, logs, screen
from roost.rig.chaos.command import chaos
from roost.rig.client import Client, client_of
from roost.rig.hypervisors import demo as real_demo
from roost.rig.hypervisors import hosts as hosts_of_libvirt
from roost.rig.install import usual
from roost.rig.openstack import packages
from roost.rig.openstack.plan import parse_names
from roost.rig.plan import FAKE, LIBVIRT, Plan, new_plan
from roost.rig.processes import Supervisor
from roost.rig.settings import parse_settings, read_inventory


class RigCommands(click.Group):
    """Commands whose own failures are one line, not a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except exception.RoostError as error:
            raise click.ClickException(error.message) from error


def state_option(function: Callable[..., None]) -> Callable[..., None]:
    return click.option(
        "--state",
        type=click.Path(file_okay=False, path_type=pathlib.Path),
        default=pathlib.Path(".rig"),
        envvar="ROOST_RIG_STATE",
        show_default=True,
        help="The rig's folder: its plan, configuration, logs, data.",
    )(function)


def cache_option(function: Callable[..., None]) -> Callable[..., None]:
    return click.option(
        "--cache",
        type=click.Path(file_okay=False, path_type=pathlib.Path),
        default=pathlib.Path("~/.cache/roost-rig").expanduser(),
        envvar="ROOST_RIG_CACHE",
        show_default="~/.cache/roost-rig",
        help="Where later rigs find what took long to make: the image of real guests, the packages"
        " of --with.",
    )(function)


@click.group(cls=RigCommands, context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """A small cloud of Roost's daemons on this machine, for tests and for looking at."""


@main.command()
@state_option
@click.option("--cells", type=click.IntRange(1), default=2, show_default=True)
@click.option("--hosts", type=click.IntRange(1), default=3, show_default=True, help="In each cell.")
@click.option("--embedded", is_flag=True, help="All in one process, with nothing to install.")
@click.option(
    "--bus",
    metavar="URL",
    help="The broker, as amqp://user:password@host:port. Left out: RabbitMQ on loopback, or one"
    " started for this rig.",
)
@click.option(
    "--db",
    metavar="URL",
    help="The database server, as an SQLAlchemy URL without a database; or postgresql (which is"
    " taken when this is left out) or mariadb: the one on loopback, or one started for this rig.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="GROUP.OPTION=VALUE",
    help="An option for all daemons, like DEFAULT.rpc_threads=32; may be repeated.",
)
@click.option(
    "--inventory",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=pathlib.Path),
    help="What the hosts pretend to have, as JSON by their names; see the documentation.",
)
@click.option(
    "--port", type=click.IntRange(1, 65535), help="The API's port. Left out: 8774, or a free one."
)
@click.option(
    "--any-ports",
    is_flag=True,
    help="Leave usual ports to others: rigs that start at the same time do not take the same.",
)
@click.option(
    "--metadata/--no-metadata",
    default=None,
    help="Start roost-metadata, too, on port 8775 or a free one; so it is with libvirt.",
)
@click.option(
    "--consoles/--no-consoles",
    default=None,
    help="Start roost-consoleproxy, too, on port 6080 or a free one; so it is with libvirt.",
)
@click.option(
    "--proxy",
    is_flag=True,
    help="Put HAProxy before the API, with the configuration of etc/haproxy/roost.cfg.",
)
@click.option(
    "--with",
    "beside",
    metavar="NAMES",
    help="Start real OpenStack services beside Roost: keystone, keystone,glance or"
    " keystone,glance,neutron. The first time they are installed from the package index.",
)
@click.option(
    "--driver",
    type=click.Choice([FAKE, LIBVIRT]),
    default=FAKE,
    show_default=True,
    help="fake: guests are pretended. libvirt: QEMU's, on hosts of their own; takes root.",
)
@cache_option
@click.option(
    "--concurrency",
    "mode",
    type=click.Choice([concurrency.THREADING, concurrency.EVENTLET]),
    default=concurrency.THREADING,
    show_default=True,
)
def up(
    *,
    state: pathlib.Path,
    cells: int,
    hosts: int,
    embedded: bool,
    bus: str | None,
    db: str | None,
    settings: tuple[str, ...],
    inventory: pathlib.Path | None,
    port: int | None,
    any_ports: bool,
    metadata: bool | None,
    consoles: bool | None,
    proxy: bool,
    beside: str | None,
    driver: str,
    cache: pathlib.Path,
    mode: str,
) -> None:
    """Start a rig and return; it runs until ``roost-rig down``."""
    if embedded and (bus or db):
        raise click.UsageError("--embedded has a bus and databases of its own: no --bus, no --db.")
    real = driver == LIBVIRT
    if real:
        hosts_of_libvirt.check_wish(
            hosts=cells * hosts, embedded=embedded, mode=mode, inventory=inventory is not None
        )
        if beside:
            raise click.UsageError("--with goes with pretended guests only: no --driver libvirt.")
    services = parse_names(beside) if beside is not None else []
    overrides = parse_settings([f"DEFAULT.concurrency={mode}", *settings])
    lifecycle.check_vacant(state, port)
    console = screen.console()
    if services:
        with screen.steps(console, f"looking for {', '.join(services)}") as say:
            packages.install(cache, say=say)
    where = {} if embedded else _where(state, bus, db)
    plan = new_plan(
        state,
        cells=cells,
        hosts=hosts,
        port=port,
        any_ports=any_ports,
        overrides=overrides,
        inventory=read_inventory(inventory) if inventory else {},
        metadata=real if metadata is None else metadata,
        consoles=real if consoles is None else consoles,
        proxy=proxy,
        driver=driver,
        cache=cache.resolve(),
        beside=services,
        **where,
    )
    with screen.steps(console, f"starting {cells} cells of {hosts} hosts") as say:
        plan = plan if embedded else backing.with_users(plan, say=console.print)
        lifecycle.up(plan, mode=mode, say=say)
    for line in _told(plan):
        console.print(line)


def _told(plan: Plan) -> Iterator[str]:
    """Yield what to tell people of a rig that was started."""
    yield f"the rig serves {plan.endpoint}"
    if plan.metadata_endpoint:
        yield f"its guests are told of themselves at {plan.metadata_endpoint}"
    if plan.console_endpoint:
        yield f"consoles of its guests are at {plan.console_endpoint}"
    for name in plan.openstack.names:
        yield f"{name.capitalize()} is at {plan.openstack.url(name)}"
    yield from (f"  {line}" for line in clouds.hints(plan))


def _where(state: pathlib.Path, bus: str | None, db: str | None) -> dict[str, Any]:
    found = backing.find(bus=bus or "rabbitmq", database=db or "postgresql", state=state)
    return dict(zip(("bus", "database"), found, strict=True))


@main.command()
@state_option
def status(state: pathlib.Path) -> None:
    """Show every daemon: its process, whether it answers, what it uses. Exits 1 if one does not."""
    plan = Plan.load(state)
    found = health.look(plan, Supervisor(plan.rig, plan.state))
    console = screen.console()
    console.print(health.table(found))
    console.print(f"{plan.endpoint}  bus {plan.bus_host}  database {plan.database_host}")
    if not all(one.well for one in found):
        sys.exit(1)


@main.command()
@state_option
@click.option("-n", "count", type=click.IntRange(0), default=1, show_default=True)
@click.option("--flavor", help="Left out: m1.tiny, or linux where guests are real.")
@click.option("--image", help="Left out: tiny, or linux where guests are real.")
@click.option(
    "--networks", default="auto", show_default=True, help="auto, none, or ids with commas."
)
@click.option(
    "--name", default="rig", show_default=True, help="What the servers' names begin with."
)
@click.option("--per-request", type=click.IntRange(1), default=1, show_default=True)
@click.option("--wait/--no-wait", default=True, show_default=True, help="Until all are done.")
@click.option("--timeout", type=float, default=300, show_default=True, help="Seconds to wait.")
@click.option("--delete-all", is_flag=True, help="Delete every server instead.")
def boot(
    *,
    state: pathlib.Path,
    count: int,
    flavor: str | None,
    image: str | None,
    networks: str,
    name: str,
    per_request: int,
    wait: bool,
    timeout: float,
    delete_all: bool,
) -> None:
    """Boot servers through the REST API. Exits 1 unless all become ACTIVE."""
    plan = Plan.load(state)
    client = client_of(plan)
    console = screen.console()
    if delete_all:
        _delete_all(client, timeout)
        return
    usual_flavor, usual_image = usual(plan)
    request = boots.BootRequest(
        flavor=boots.choose(client.flavors(), flavor or usual_flavor, "flavor"),
        image=boots.choose(client.images(), image or usual_image, "image"),
        networks=networks,
        prefix=name,
    )
    with screen.progress(console, count) as show:
        booted = boots.boot(
            client,
            request,
            count=count,
            timeout=timeout if wait else 0,
            per_request=per_request,
            show=show,
        )
    screen.report(console, plan, booted)
    if wait and boots.states(booted) != {"ACTIVE": count}:
        sys.exit(1)


def _delete_all(client: Client, timeout: float) -> None:
    console = screen.console()
    began = time.monotonic()
    with screen.steps(console, "deleting all servers") as say:
        left = boots.delete_all(client, timeout=timeout, show=lambda n: say(f"{n} left"))
    if left:
        raise click.ClickException(f"{left} are still there after {time.monotonic() - began:.0f} s")


@main.command()
@state_option
@click.argument("daemon")
@click.option("--signal", default="KILL", show_default=True, help="TERM, STOP, CONT, HUP, …")
def kill(state: pathlib.Path, daemon: str, signal: str) -> None:
    """Send a signal to a daemon; nobody starts it again."""
    plan = _with_process(state, daemon)
    lifecycle.find(plan, daemon)
    pid = Supervisor(plan.rig, plan.state).signal(daemon, signal)
    if not pid:
        raise click.ClickException(f"{daemon} does not run")
    screen.console().print(f"{daemon} (pid {pid}) was sent {signal}")


@main.command()
@state_option
@click.argument("daemon")
def start(state: pathlib.Path, daemon: str) -> None:
    """Start a daemon that was killed."""
    plan = _with_process(state, daemon)
    lifecycle.find(plan, daemon)
    supervisor = Supervisor(plan.rig, plan.state)
    supervisor.start_process(daemon)
    screen.console().print(f"{daemon} runs as pid {supervisor.find(daemon).pid}")


@main.command(context_settings={"ignore_unknown_options": True})
@state_option
@click.argument("host")
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED)
def inside(state: pathlib.Path, host: str, words: tuple[str, ...]) -> None:
    """Run a command on a host with real guests, like ``virsh list`` or ``ip link``."""
    command = hosts_of_libvirt.machine(Plan.load(state), host).inside(words)
    os.execvp(command[0], command)  # noqa: S606 - it is what was asked for


@main.command("logs")
@state_option
@click.argument("daemon", required=False)
@click.option("-f", "--follow", is_flag=True, help="Go on as lines come, until interrupted.")
@click.option("-n", "lines", type=int, default=20, show_default=True, help="Last lines of each.")
def show_logs(state: pathlib.Path, daemon: str | None, follow: bool, lines: int) -> None:
    """Show what a daemon (or every one) has logged."""
    plan = Plan.load(state)
    for line in logs.tail(plan, daemon, lines=lines, follow=follow):
        click.echo(line)


@main.command()
@state_option
@click.option("--if-there", is_flag=True, help="Say nothing when there is no rig.")
def down(state: pathlib.Path, if_there: bool) -> None:
    """End the rig: daemons, databases, virtual hosts, its folder."""
    try:
        plan = Plan.load(state)
    except exception.NotFound:
        if if_there:
            return
        raise
    with screen.steps(screen.console(), "ending the rig") as say:
        lifecycle.down(plan, say=say)


main.add_command(chaos)


@main.command("demo")
@state_option
@click.option("--keep", is_flag=True, help="Leave the rig running.")
@click.option("--driver", type=click.Choice([FAKE, LIBVIRT]), default=FAKE, show_default=True)
@cache_option
def show_demo(state: pathlib.Path, keep: bool, driver: str, cache: pathlib.Path) -> None:
    """Boot servers through two cells, and show what becomes of them. Exits 1 on failure.

    With libvirt they are real, and say themselves who they are; else there are ten in one process,
    each shown step by step.
    """
    console = screen.console()
    if driver == LIBVIRT:
        well = real_demo.run(state, cache.resolve(), keep=keep, console=console)
    else:
        well = demo.run(state, keep=keep, console=console)
    if not well:
        sys.exit(1)


def _with_process(state: pathlib.Path, daemon: str) -> Plan:
    plan = Plan.load(state)
    if plan.embedded and not plan.openstack.has(daemon):
        raise exception.Invalid(
            "an embedded rig is one process: its daemons have none of their own"
        )
    return plan
