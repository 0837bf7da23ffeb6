"""At no moment two guests of one server run.

A guest counts once its cell has accepted it (it is announced): one that is being made may be on two
hosts for a while, as a build whose host was lost goes on elsewhere.
"""

import json
import pathlib
from typing import Any

from roost import states
from roost.compute.virt.fake.driver import FakeDriver

_RUNS = (states.RUNNING, states.HELD)


class Twin(AssertionError):
    """Two guests of one server run."""


def watched(world: Any) -> Any:
    """Return what drivers write guests with, which looks whether another host has it, too."""
    write = FakeDriver._write

    def write_and_look(driver: FakeDriver, uuid: str, guest: dict[str, Any]) -> None:
        write(driver, uuid, guest)
        if not _runs(guest):
            return
        folders = {host: world.ground.host_folder(host) for host in world.plan.all_hosts}
        hosts = [host for host, folder in folders.items() if _runs(_read(folder, uuid))]
        if len(hosts) > 1:
            world.loop.accidents.append((None, Twin(f"{uuid} runs on {' and '.join(hosts)}")))

    return write_and_look


def cut_off(folder: pathlib.Path) -> None:
    """Let a host be off: no guest of it runs any more, as its hypervisor says when it is on."""
    for file in (folder / "guests").glob("*.json"):
        guest = json.loads(file.read_text())
        if guest["power_state"] in _RUNS:
            off = {"power_state": states.SHUTDOWN, "cut_off": True}
            file.write_text(json.dumps(guest | off))


def _read(folder: pathlib.Path, uuid: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((folder / "guests" / f"{uuid}.json").read_text())
    except FileNotFoundError:
        return {}
    return found


def _runs(guest: dict[str, Any]) -> bool:
    return guest.get("power_state") in _RUNS and bool(guest.get("announced"))
