"""The hosts of a rig with real guests: made, started and ended together."""

import contextlib
import dataclasses
import pathlib
import subprocess
import sys
import time
from typing import Final
from urllib.parse import urlsplit

from roost import concurrency, exception
from roost.compute.network.bridge import system
from roost.context import admin_context
from roost.image.local import LocalImageStore
from roost.rig.hypervisors import gate, libvirtd, linux_guest, needs
from roost.rig.hypervisors.machine import HostNamespace, Link
from roost.rig.hypervisors.network import MANAGEMENT, MOST, PREFIX, UPLINK
from roost.rig.install import LINUX
from roost.rig.plan import Plan
from roost.rig.processes import Program
from roost.rig.services.private import LOOPBACK

GATE: Final = "gate"
_GONE_SECONDS: Final = 10.0
_NAMESPACES: Final = {"unshare": "util-linux", "nsenter": "util-linux"}


def check_wish(*, hosts: int, embedded: bool, mode: str, inventory: bool) -> None:
    """Make sure that there can be such hosts here, before anything is made.

    :param mode: how daemons do many things at once
    :param inventory: whether somebody says what hosts have
    :raises roost.exception.Invalid: naming what is missing, and how to get it; or what cannot be
    """
    if embedded:
        raise exception.Invalid(
            "hosts with real guests are apart from each other, which one process cannot be: leave"
            " out --embedded"
        )
    if mode != concurrency.THREADING:
        raise exception.Invalid(
            "libvirt's binding would block eventlet: --driver libvirt wants --concurrency threading"
        )
    if inventory:
        raise exception.Invalid("real hosts have what this machine has: leave out --inventory")
    if hosts > MOST:
        raise exception.Invalid(f"there are addresses for {MOST} hosts, not for {hosts}")
    needs.check({**needs.GUESTS, **system.PACKAGES, **_NAMESPACES})


def machines(plan: Plan) -> list[HostNamespace]:
    """Return the hosts of a rig."""
    return [_machine(plan, number) for number in range(len(plan.all_hosts))]


def machine(plan: Plan, host: str) -> HostNamespace:
    """Return one host of a rig.

    :raises roost.exception.NotFound: when it has none of that name, or they only pretend
    """
    if not plan.real or host not in plan.all_hosts:
        known = ", ".join(plan.all_hosts) if plan.real else "none that is more than a process"
        raise exception.NotFound(f"this rig has no host {host!r}; it has {known}")
    return _machine(plan, plan.all_hosts.index(host))


def lay(plan: Plan) -> None:
    """Make what hosts stand on: their links' switches, their folders, an image to boot on them.

    :raises roost.exception.Unavailable: when something cannot be made
    """
    guest = linux_guest.made(plan.cache / "guest")
    with guest.open("rb") as data:
        LocalImageStore(plan.images).add(
            admin_context(), name=LINUX, data=data, disk_format="qcow2"
        )
    for switch in _switches(plan):
        _ip("link", "add", "name", switch, "type", "bridge")
        _ip("link", "set", "dev", switch, "addrgenmode", "none")
        _ip("link", "set", "dev", switch, "up")
    own = f"{plan.network.gateway}/{PREFIX}"
    _ip("address", "add", own, "dev", plan.network.switch)
    names = [f"{one.address} {one.name}\n" for one in machines(plan)]
    _folder(plan).mkdir(parents=True)
    _names(plan).write_text("127.0.0.1 localhost\n" + "".join(names))
    for one in machines(plan):
        one.lay()


def programs(plan: Plan) -> list[Program]:
    """Return what runs beside Roost's daemons."""
    words = gate.words(plan.network.gateway, doors(plan))
    command = [sys.executable, "-m", "roost.rig.hypervisors.gate", *words]
    return [
        Program(GATE, command, plan.log_file(GATE)),
        *(program for one in machines(plan) for program in _programs(plan, one)),
    ]


def doors(plan: Plan) -> dict[int, tuple[str, int]]:
    """Return where each port of the hosts' gateway leads: to the broker, or to our loopback."""
    broker = urlsplit(plan.bus)
    ports = plan.network.doors(daemon.options for daemon in plan.daemons)
    places = dict.fromkeys(ports, LOOPBACK) | {broker.port or 0: broker.hostname or LOOPBACK}
    return {port: (places[port], port) for port in sorted(ports)}


def inside(plan: Plan, program: Program) -> Program:
    """Return a host's ``roost-compute`` as it is started on that host."""
    words = _enter(machine(plan, program.name), "--after", "libvirt-sock")
    return dataclasses.replace(program, command=[*words, *program.command])


def end(plan: Plan) -> None:
    """End all that runs on the hosts, and remove their links; may be repeated.

    :raises roost.exception.Timeout: when something does not end
    """
    for one in machines(plan):
        one.end()
    deadline = time.monotonic() + _GONE_SECONDS
    while links := [link for link in _links() if link.startswith(plan.network.prefix)]:
        with contextlib.suppress(exception.Unavailable):  # links go by themselves with their hosts
            _ip("link", "delete", "dev", links[0])
        if time.monotonic() > deadline:
            raise exception.Timeout(f"the links {', '.join(links)} are still there")


def _machine(plan: Plan, number: int) -> HostNamespace:
    host = plan.all_hosts[number]
    cell = plan.cell_names.index(plan.cell_of(host)) + 1
    network = plan.network
    return HostNamespace(
        name=host,
        folder=_folder(plan) / host,
        cache=plan.cache / "libvirt",
        names=_names(plan),
        address=network.address(number),
        gateway=network.gateway,
        links=(
            Link(MANAGEMENT, network.link("m", number), network.switch),
            Link(UPLINK, network.link("g", number), network.cell_switch(cell)),
        ),
    )


def _programs(plan: Plan, one: HostNamespace) -> list[Program]:
    log, daemon = f"{one.name}-virtlogd", f"{one.name}-libvirtd"
    first = _enter(one, "--first")
    then = _enter(one, "--after", "virtlogd-sock")
    listening = ["--listen", "--pid-file", "/run/libvirt/libvirtd.pid"]
    return [
        Program(
            log,
            [*first, libvirtd.VIRTLOGD, "--pid-file", "/run/libvirt/virtlogd.pid"],
            plan.log_file(log),
        ),
        Program(daemon, [*then, libvirtd.LIBVIRTD, *listening], plan.log_file(daemon)),
    ]


def _enter(one: HostNamespace, *how: str) -> list[str]:
    return [sys.executable, "-m", "roost.rig.hypervisors.enter", *how, str(one.folder)]


def _folder(plan: Plan) -> pathlib.Path:
    return plan.state / "hosts"


def _names(plan: Plan) -> pathlib.Path:
    return _folder(plan) / "names"


def _switches(plan: Plan) -> list[str]:
    network = plan.network
    return [network.switch, *(network.cell_switch(n + 1) for n in range(plan.cells))]


def _links() -> list[str]:
    """Return the links of this machine, the switches first: they are no link's other end."""
    return sorted(path.name for path in pathlib.Path("/sys/class/net").iterdir())


def _ip(*words: str) -> None:
    program = needs.find_program("ip") or "ip"
    done = subprocess.run([program, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise exception.Unavailable(f"ip {' '.join(words)}: {done.stderr.strip()}")
