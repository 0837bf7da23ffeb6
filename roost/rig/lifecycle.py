"""Start a rig and take it down again: databases and buses, daemons, the files for clients."""

import contextlib
import functools
import os
import pathlib
import shutil
import sys
import time
from collections.abc import Callable, Sequence

import roost
from roost import concurrency, exception
from roost.rig import backing, clouds, health
from roost.rig.client import Client, client_of
from roost.rig.hypervisors import hosts
from roost.rig.install import disband, install, map_hosts
from roost.rig.openstack import deployment
from roost.rig.plan import Plan, PlannedDaemon
from roost.rig.processes import NOT_STARTED, Program, Supervisor
from roost.rig.services.private import free_port

READY_SECONDS = 120
_OPENSTACK_SECONDS = 300  # each of these services loads more than all of Roost
_ANSWER_SECONDS = 30  # that its first answer may take
PROXY = "proxy"
_PROXY_FILE = pathlib.Path(roost.__file__).parents[1] / "etc/haproxy/roost.cfg"
Say = Callable[[str], object]


def up(plan: Plan, *, mode: str, say: Say) -> None:
    """Start the rig; return when every daemon answers and every host can be booted on.

    :param mode: ``threading`` or ``eventlet``
    :raises roost.exception.Unavailable: when there is nothing to stand on; nothing is left then
    :raises roost.exception.Timeout: when it does not get ready; what is there is left to look at
    """
    plan.save()
    _lay(plan, say)
    launch(plan, mode=mode, say=say)


def launch(plan: Plan, *, mode: str, say: Say) -> None:
    """Start the daemons of a rig that has all it stands on: the last part of :func:`up`."""
    try:
        _launch(plan, mode=mode, say=say)
    except exception.RoostError:
        if plan.real:  # what is there to look at are files; guests and links would bother others
            _end(plan, say)
        raise
    clouds.write(plan)


def _launch(plan: Plan, *, mode: str, say: Say) -> None:
    supervisor = Supervisor(plan.rig, plan.state)
    supervisor.start(programs(plan), {concurrency.ENVIRONMENT: mode})
    if plan.openstack:
        say(f"starting and filling {', '.join(plan.openstack.names)}")
        _start(supervisor, deployment.programs(plan))
        deployment.fill(plan, functools.partial(_wait_for, plan, supervisor))
    say("starting the daemons")
    _start(supervisor, programs(plan))
    say("waiting until all answer")
    client = client_of(plan, timeout=5)
    _wait(plan, supervisor, lambda: _missing(plan, client))
    if not plan.embedded:
        map_hosts(plan)


def _start(supervisor: Supervisor, some: Sequence[Program]) -> None:
    for program in some:
        supervisor.start_process(program.name)


def down(plan: Plan, *, say: Say) -> None:
    """End the daemons, then remove databases, buses and the rig's folder. May be repeated."""
    _end(plan, say)
    with contextlib.suppress(exception.RoostError):  # what cannot be reached cannot be tidied
        disband(plan)
    if not plan.embedded:
        say("removing databases and buses")
        backing.remove(plan)
    shutil.rmtree(plan.state)


def _end(plan: Plan, say: Say) -> None:
    """End all that runs."""
    say("ending the daemons")
    daemons = [daemon.name for daemon in plan.daemons] if plan.real else []
    Supervisor(plan.rig, plan.state).stop(first=daemons)
    if plan.real:
        say("ending guests and hosts")
        hosts.end(plan)


def check_vacant(state: pathlib.Path, port: int | None = None) -> None:
    """Make sure that no rig lives in a folder, and that nobody has the port asked for.

    :raises roost.exception.Conflict: when one does, or somebody has
    """
    if port is not None and free_port(port) != port:
        raise exception.Conflict(
            f"port {port} of 127.0.0.1 is taken: name another, or none to have a free one"
        )
    if (state / "rig.json").exists():
        raise exception.Conflict(
            f"there is a rig in {state} already; end it with: roost-rig down --state {state}"
        )


def _silent(plan: Plan, client: Client) -> str:
    """Say what the API does not tell to be alive, itself included.

    An API that judges us by a Keystone which is not the rig's tells us nothing, but it answers.
    """
    try:
        services = client.services()
    except exception.Unauthenticated:
        return ""
    except exception.Unavailable:
        return "the API does not answer"
    except exception.RoostError as error:
        return error.message
    up_now = {service["host"] for service in services if service["state"] == "up"}
    silent = [d.name for d in plan.daemons if d.cell and d.name not in up_now]
    return f"no sign of life of {', '.join(silent)}" if silent else ""


def _lay(plan: Plan, say: Say) -> None:
    """Make all that daemons stand on, or leave nothing."""
    try:
        if not plan.embedded:
            say("making databases and buses")
            backing.create(plan)
            say("making schemas, cells, flavors and an image")
            install(plan)
        if plan.openstack:
            deployment.prepare(plan)
        if plan.real:
            say("making hosts, and a Linux for their guests")
            hosts.lay(plan)
    except Exception:
        if plan.real:
            hosts.end(plan)
        with contextlib.suppress(exception.RoostError):
            if not plan.embedded:
                backing.remove(plan)
        shutil.rmtree(plan.state)
        raise


def programs(plan: Plan) -> list[Program]:
    """Return what runs: one process per daemon, or one for all; what they stand on comes first."""
    proxies = [_proxy(plan)] if plan.api_port else []
    return [*deployment.programs(plan), *_own_programs(plan), *proxies]


def _proxy(plan: Plan) -> Program:
    """HAProxy, as it stands before roost-api in a deployment.

    :raises roost.exception.Unavailable: when it, or its configuration, is not there
    """
    program = shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None or not _PROXY_FILE.exists():
        raise exception.Unavailable(
            "--proxy needs HAProxy (Debian's package haproxy), and a checkout of Roost's source"
        )
    where = {"ROOST_BIND": f"127.0.0.1:{plan.port}", "ROOST_API": f"127.0.0.1:{plan.api_port}"}
    return Program(PROXY, [program, "-db", "-f", str(_PROXY_FILE)], plan.log_file(PROXY), where)


def _own_programs(plan: Plan) -> list[Program]:
    if plan.embedded:
        command = [sys.executable, "-m", "roost.rig.serve", str(plan.state)]
        return [Program(health.EMBEDDED, command, plan.log_file(health.EMBEDDED))]
    folder = pathlib.Path(sys.executable).parent
    daemons = {
        daemon.name: Program(
            daemon.name,
            [str(folder / daemon.program), "--config-file", str(plan.config_file(daemon.name))],
            plan.log_file(daemon.name),
            {**_concurrency(daemon), **plan.environments.get(daemon.name, {})},
        )
        for daemon in plan.daemons
    }
    if not plan.real:
        return list(daemons.values())
    real = {host: hosts.inside(plan, daemons[host]) for host in plan.all_hosts}
    return [*hosts.programs(plan), *(daemons | real).values()]


def _concurrency(daemon: PlannedDaemon) -> dict[str, str]:
    """Return the variable with a daemon's own concurrency, if it has one."""
    own = daemon.options["DEFAULT"].get("concurrency")
    return {} if own is None else {concurrency.ENVIRONMENT: str(own)}


def find(plan: Plan, name: str) -> Program:
    """Return what runs under a name.

    :raises roost.exception.NotFound: with the names that there are
    """
    known = {program.name: program for program in programs(plan)}
    if name not in known:
        raise exception.NotFound(f"this rig has no daemon {name!r}; it has {', '.join(known)}")
    return known[name]


def _wait_for(plan: Plan, supervisor: Supervisor, name: str) -> None:
    """Return when an OpenStack service answers."""

    def missing() -> str:
        answers = health.service_answers(plan, name, seconds=_ANSWER_SECONDS)
        return "" if answers else f"{name} does not answer"

    _wait(plan, supervisor, missing, seconds=_OPENSTACK_SECONDS)


def _wait(
    plan: Plan,
    supervisor: Supervisor,
    missing: Callable[[], str],
    *,
    seconds: float = READY_SECONDS,
) -> None:
    """Return when nothing is missing any more.

    :param missing: says what is
    """
    deadline = time.monotonic() + seconds
    while True:
        _check_alive(plan, supervisor)
        what = missing()
        if not what:
            return
        if time.monotonic() > deadline:
            raise exception.Timeout(
                f"not ready after {seconds:.0f} s: {what}; see {plan.state / 'log'}{_left(plan)}"
            )
        time.sleep(0.1)


def _left(plan: Plan) -> str:
    """Say what to do with a rig that did not start, if it is still there."""
    return "" if plan.real else f"\nTo start again, first: roost-rig down --state {plan.state}"


def _check_alive(plan: Plan, supervisor: Supervisor) -> None:
    for process in supervisor.list_processes():
        if not process.running and process.state != NOT_STARTED:
            log = plan.log_file(process.name)
            last = log.read_text().strip().splitlines()[-12:] if log.exists() else []
            raise exception.Unavailable(
                "\n  ".join([f"{process.name} ended at once; the end of {log}:", *last])
                + _left(plan)
            )


def _missing(plan: Plan, client: Client) -> str:
    """Say what is not there yet; empty when all is."""
    silent = _silent(plan, client)
    if silent:
        return silent
    if plan.metadata_port and not health.metadata_answers(plan):
        return "roost-metadata does not answer"
    if plan.console_port and not health.consoles_answer(plan):
        return "roost-consoleproxy does not answer"
    if plan.embedded:  # it answers only when its hosts are known
        return ""
    return health.unknown_hosts(plan)
