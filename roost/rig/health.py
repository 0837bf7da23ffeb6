"""Whether each daemon of a rig is alive and answers."""

import contextlib
import dataclasses
import functools
import logging
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import oslo_messaging as messaging
import requests
from rich import box
from rich.table import Table
from rich.text import Text

import roost.conf
from roost import exception
from roost.context import admin_context
from roost.db.types import utcnow
from roost.rig.client import Client, client_of, moment
from roost.rig.plan import API_LEVEL, CONSOLES, METADATA, Plan, PlannedDaemon
from roost.rig.processes import Process, Supervisor, usage
from roost.rpc import consumer_check
from roost.rpc.transport import Bus
from roost.scheduler.client import SchedulerClient

EMBEDDED = "embedded"
PING_SECONDS = 3
# No daemon has this method; that one says so shows that it takes messages and answers them. The
# ending keeps oslo.messaging from logging it as a failure.
_PING = "ping_ignore_errors"


@dataclasses.dataclass(frozen=True)
class Health:
    """One daemon: its process, and what it answered (None: it has not been asked).

    CPU in seconds, memory in bytes.
    """

    name: str
    process: Process | None
    answers: bool | None
    said: str
    heartbeat: str
    cpu_seconds: float
    memory: int

    @property
    def well(self) -> bool:
        return self.answers is not False and (self.process is None or self.process.running)


def look(plan: Plan, supervisor: Supervisor) -> list[Health]:
    """Ask every daemon at once."""
    processes = {process.name: process for process in supervisor.list_processes()}
    services = _services(plan)
    pings = _ping_api(plan) if plan.embedded else _ping_all(plan)
    pings |= {
        name: _timed(functools.partial(service_answers, plan, name))
        for name in plan.openstack.names
    }
    names = [EMBEDDED] if plan.embedded else []
    names += [daemon.name for daemon in plan.daemons]
    names += [name for name in processes if name not in names]  # what the daemons stand on
    return [_health(name, processes, services, pings) for name in names]


def unknown_hosts(plan: Plan) -> str:
    """Say which hosts the schedulers have not heard of; empty when they know all."""
    bus = _bus(plan.bus_url(API_LEVEL))
    try:
        with _unlogged(consumer_check.LOG):
            reports = SchedulerClient(bus).list_hosts(admin_context())
    except exception.RoostError as error:
        return error.message
    finally:
        bus.close()
    missing = set(plan.all_hosts) - {report.host for report in reports}
    return f"the scheduler has not heard of {', '.join(sorted(missing))}" if missing else ""


@contextlib.contextmanager
def _unlogged(logger: logging.Logger) -> Iterator[None]:
    """Log nothing about who does not answer yet: it is what is asked."""
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


def table(healths: list[Health]) -> Table:
    """Draw one line per daemon."""
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("daemon", "process", "pid", "answers", "heartbeat"):
        drawn.add_column(heading)
    for heading in ("cpu s", "MiB"):
        drawn.add_column(heading, justify="right")
    for health in healths:
        drawn.add_row(*_cells(health))
    return drawn


def _cells(health: Health) -> list[str | Text]:
    process = health.process
    return [
        Text(health.name, style="" if health.well else "bold red"),
        process.state if process else "",
        str(process.pid) if process and process.running else "",
        Text(health.said, style="green" if health.answers else "red"),
        health.heartbeat,
        f"{health.cpu_seconds:.1f}" if process else "",
        f"{health.memory / 2**20:.0f}" if process else "",
    ]


def _health(
    name: str,
    processes: dict[str, Process],
    services: dict[str, dict[str, Any]],
    pings: dict[str, tuple[bool | None, str]],
) -> Health:
    process = processes.get(name)
    service = services.get(name)
    answers, said = pings.get(name, (None, ""))
    if answers is None and service:
        answers = service.get("state") == "up"
    seconds, memory = usage(process.pid) if process and process.running else (0.0, 0)
    return Health(
        name=name,
        process=process,
        answers=answers,
        said=said,
        heartbeat=_heartbeat(service),
        cpu_seconds=seconds,
        memory=memory,
    )


def _heartbeat(service: dict[str, Any] | None) -> str:
    if service is None:
        return ""
    seen = service.get("updated_at")
    age = f", {(utcnow() - moment(seen)).total_seconds():.0f} s ago" if seen else ""
    return f"{service.get('state', 'in a cell that is away')}{age}"


def _services(plan: Plan) -> dict[str, dict[str, Any]]:
    try:
        return {service["host"]: service for service in client_of(plan).services()}
    except exception.RoostError:
        return {}


def _ping_api(plan: Plan) -> dict[str, tuple[bool | None, str]]:
    """Ask those that answer by HTTP; the in-memory bus cannot be reached from outside."""
    return {one.name: _ping_http(plan, one) for one in plan.daemons if one.topic is None}


def _ping_all(plan: Plan) -> dict[str, tuple[bool | None, str]]:
    with contextlib.ExitStack() as opened, futures.ThreadPoolExecutor() as pool:
        buses = dict(
            zip(plan.bus_levels, pool.map(_bus, map(plan.bus_url, plan.bus_levels)), strict=True)
        )
        for bus in buses.values():
            opened.callback(bus.close)
        asked = {
            daemon.name: pool.submit(_ping, plan, daemon, buses[daemon.cell or API_LEVEL])
            for daemon in plan.daemons
        }
        return {name: answer.result() for name, answer in asked.items()}


def _bus(url: str) -> Bus:
    bus = Bus(roost.conf.of({}), url)
    bus.expect_replies()
    return bus


def _ping(plan: Plan, daemon: PlannedDaemon, bus: Bus) -> tuple[bool, str]:
    if daemon.topic is None:
        return _ping_http(plan, daemon)
    try:
        bus.check_replies()
        return _timed(lambda: _rpc_answers(daemon, bus))
    except exception.RoostError as error:
        return False, error.message


def metadata_answers(plan: Plan) -> bool:
    """Tell whether somebody tells guests of themselves; what they are told of none is no matter."""
    return _answers(f"{plan.metadata_endpoint}/")


def consoles_answer(plan: Plan) -> bool:
    """Tell whether somebody leads to consoles; who has no token is turned away, and answered."""
    return _answers(f"http://{plan.console_endpoint}/")


def service_answers(plan: Plan, name: str, *, seconds: float = PING_SECONDS) -> bool:
    """Tell whether an OpenStack service of the rig is there."""
    return _answers(plan.openstack.url(name), seconds)


def _answers(url: str, seconds: float = PING_SECONDS) -> bool:
    with requests.Session() as asking:
        asking.trust_env = False  # a proxy is never between us and this machine
        try:
            asking.get(url, timeout=seconds)
        except requests.RequestException:
            return False
    return True


def _ping_http(plan: Plan, daemon: PlannedDaemon) -> tuple[bool, str]:
    if daemon.name == METADATA:
        return _timed(lambda: metadata_answers(plan))
    if daemon.name == CONSOLES:
        return _timed(lambda: consoles_answer(plan))
    return _timed(Client(plan.endpoint, timeout=PING_SECONDS).answers)


def _timed(ask: Callable[[], bool]) -> tuple[bool, str]:
    began = time.monotonic()
    answered = ask()
    return answered, f"in {(time.monotonic() - began) * 1000:.0f} ms" if answered else "no"


def _rpc_answers(daemon: PlannedDaemon, bus: Bus) -> bool:
    client = bus.client(str(daemon.topic))
    try:
        client.prepare(server=daemon.name, timeout=PING_SECONDS).call(admin_context(), _PING)
    except (
        messaging.MessagingTimeout,
        messaging.MessageUndeliverable,
        messaging.MessageDeliveryFailure,
    ):
        return False
    except messaging.RemoteError:
        return True
    return True
