"""What happens in one world: people ask for servers and delete them while everything breaks.

Then it gets calm, and after some minutes everything must be in order.
"""

import dataclasses
import gc
import logging
import random
import warnings
from collections.abc import Callable
from typing import Any

from tests.simulation.fault_model import Storm
from tests.simulation.processes import Process
from tests.simulation.simulated_cloud import ADMIN, TOKEN, World
from tests.simulation.system_state import Seen, Truth

STORM_SECONDS = 24.0
PATIENCE = 400.0  # seconds of calm after which everything must be in order
LOOK = 6.0  # seconds between two looks whether it is
_RESETS = ({"os-resetState": {"state": "active"}}, {"os-resetState": {"state": "error"}})
_ANY_TIME = (
    {"reboot": {"type": "HARD"}},
    {"lock": None},
    {"unlock": None},
    {"os-getConsoleOutput": {"length": 3}},
)
_IMAGES = (
    {"createImage": {"name": "image"}},
    {"createBackup": {"name": "backup", "backup_type": "daily", "rotation": 1}},
)
_REBUILD = {"rebuild": None}  # its image is the world's
_RESCUE = {"rescue": None}
_INTERFACES = (
    {"attach": None},
    {"attach": None},
    {"detach": None},
)  # they have a path of their own
_MIGRATE = {"migrate": None}
_LIVE = {"os-migrateLive": {"host": None, "block_migration": "auto"}}
_SHELVE, _UNSHELVE = {"shelve": None}, {"unshelve": None}
_OFFLOAD = {"shelveOffload": None}
_MOVES = (_MIGRATE, {"resize": {"flavorRef": "1"}}, {"resize": {"flavorRef": "2"}})
# What people do to servers of a status; each look at a server is followed by another for as long as
# there is something to do.
_ACTIONS = {
    "ACTIVE": (
        {"os-stop": None},
        {"pause": None},
        {"suspend": None},
        {"reboot": {"type": "SOFT"}},
        {"changePassword": {"adminPass": "secret"}},
        *_IMAGES,
        *_INTERFACES,
        *_MOVES,
        _LIVE,
        _SHELVE,
        _REBUILD,
        _RESCUE,
        *_ANY_TIME,
        *_RESETS,
    ),
    "RESCUE": ({"unrescue": None}, {"unrescue": None}, {"unrescue": None}, *_RESETS),
    "ERROR": (_REBUILD, _RESCUE, {"reboot": {"type": "HARD"}}),
    "PAUSED": (
        {"unpause": None},
        {"unpause": None},
        _LIVE,
        {"reboot": {"type": "HARD"}},
        *_INTERFACES,
        *_RESETS,
    ),
    "SUSPENDED": ({"resume": None}, {"resume": None}, {"reboot": {"type": "HARD"}}, *_RESETS),
    "SHUTOFF": (
        {"os-start": None},
        {"os-start": None},
        _REBUILD,
        _RESCUE,
        *_IMAGES,
        *_MOVES,
        _SHELVE,
        *_RESETS,
    ),
    "SHELVED": (_OFFLOAD, _UNSHELVE, *_RESETS),
    "SHELVED_OFFLOADED": (_UNSHELVE,),
    "VERIFY_RESIZE": (
        {"confirmResize": None},
        {"revertResize": None},
        {"reboot": {"type": "HARD"}},
    ),
}
# What people do in worlds in which servers move a lot.
_MOVING = (*_MOVES, _LIVE, {"confirmResize": None}, {"revertResize": None}, {"os-start": None})
KEPT_FOR = 30  # seconds for which deleted servers can be restored, where they can
_RESTORE = {"restore": None}
_FLAVORS = ("1", "1", "2", "9" * 3)


@dataclasses.dataclass
class Outcome:
    seed: int
    wrong: list[str]
    seconds: float  # of the world, from calm to order
    totals: dict[str, int]
    digest: str


def play(seed: int, *, tell: Callable[[str], None] = lambda _: None) -> Outcome:
    """Run the story of a seed; what it says is the same each time."""
    sea = Storm(seed)
    retained_for = random.Random(f"{seed} kept").choice((0, 0, KEPT_FOR))
    with World(seed, sea, tell=tell, retained_for=retained_for) as world:
        story = Story(world, sea, random.Random(f"{seed} story"))
        wrong, seconds = story.run()
        wrong += [f"{task} had an accident: {error!r}" for task, error in world.loop.accidents]
        return Outcome(seed, wrong, seconds, dict(sea.totals), world.digest)


def play_quietly(seed: int) -> Outcome:
    """Run the story of a seed in a process that does nothing else."""
    logging.disable()
    warnings.simplefilter("ignore")
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)  # worlds are short
    return play(seed)


class Story:
    def __init__(self, world: World, sea: Storm, chance: random.Random) -> None:
        self.world, self.sea, self.random = world, sea, chance
        self.kept: set[str] = set()  # accepted for sure, and nobody wants them deleted
        self.doomed: set[str] = set()  # somebody is at deleting them
        self.gone: set[str] = set()  # the API said that they are deleted
        self.wrong: list[str] = []
        self.began = world.loop.now
        self.moves_much = chance.random() < 0.4
        self.off: set[str] = set()  # hosts that are off, and stay so for a while
        self._busy = 0

    def run(self) -> tuple[list[str], float]:
        world = self.world
        world.on_death = self._restart_later
        world.start()
        for number in range(self.random.randint(2, 4)):
            self._someday(lambda number=number: self._boot(number), 0, 16)
        for away, name in self._outages():
            self._someday(lambda away=away, name=name: self._cut_off(away, name), 0, 35)
        for _ in range(self.random.choice((0, 0, 1, 2))):
            self._someday(self._kill_one, 1, STORM_SECONDS)
        if self.random.random() < 0.3:
            self._someday(self._lose_a_host, 4, STORM_SECONDS)
        world.loop.run(self.began + STORM_SECONDS)
        self._calm()
        return self._until_order()

    # what happens

    def _boot(self, number: int) -> None:
        count = self.random.choice((1, 1, 2, 3))
        name = f"server{number}"
        names = [name] if count == 1 else [f"{name}-{at}" for at in range(1, count + 1)]
        body = {
            "server": {
                "name": name,
                "flavorRef": self.random.choice(("1", "1", "1", "2", "huge")),
                "imageRef": self.world.ground.image,
                "networks": self.random.choice(("auto", "none")),
                "min_count": count,
            }
        }
        status, _answer = self.world.ask("POST", "/servers", body)
        self.sea.totals[f"POST /servers {status}"] += 1
        if status == 202:
            self.kept.update(names)
        elif status not in (0, 503):
            self.wrong.append(f"POST /servers was answered {status}")
        for name in names:
            if self.random.random() < 0.45:
                self._someday(lambda name=name: self._delete(name), 0, 24)
            else:
                self._someday(lambda name=name: self._change(name), 4, 24)

    def _delete(self, name: str) -> None:
        seen = self._find(name)
        if seen is None:
            return  # it was never accepted
        self.doomed.add(name)
        tried = 0
        while True:
            status, _answer = self.world.ask("DELETE", f"/servers/{seen.uuid}")
            self.sea.totals[f"DELETE {status}"] += 1
            if status in (204, 404):
                break
            if status == 409:  # somebody has locked it
                self.world.ask("POST", f"/servers/{seen.uuid}/action", {"unlock": None})
            elif status not in (0, 503):
                self.wrong.append(f"DELETE of {name} was answered {status}")
            tried += 1
            self.world.loop.sleep(2)
        if status == 404 and not tried:
            self.wrong.append(f"{name} was accepted, but the API does not know it")
        self.gone.add(name)
        if self.world.retained_for and self.random.random() < 0.5:
            self._someday(lambda: self._restore(name, seen.uuid), 0.5, 20)

    def _restore(self, name: str, uuid: str) -> None:
        """Think better of it; perhaps it was no server yet, or it is too late."""
        path = f"/servers/{uuid}/action"
        status, _answer = self.world.ask("POST", path, _RESTORE)
        self.sea.totals[f"restore {status}"] += 1
        if status == 202:
            self.gone.discard(name)
            self.kept.add(name)
        elif status in (0, 503):
            self.gone.discard(name)  # nobody knows: it is there, whole, or nothing is left
            self.kept.discard(name)
        elif status not in (404, 409):
            self.wrong.append(f"the restore of {name} was answered {status}")

    def _change(self, name: str) -> None:
        """Look at a server, which must be there; then do to it what its status lets one do."""
        seen = self._find(name)
        if seen is None or name not in self.kept:
            return
        status, answer = self.world.ask("GET", f"/servers/{seen.uuid}")
        self.sea.totals[f"GET {status}"] += 1
        if status not in (200, 0, 503):
            self.wrong.append(f"GET of {name}, which is accepted, was answered {status}")
        actions = _ACTIONS.get(answer["server"]["status"], ()) if status == 200 else ()
        if self.moves_much and self.random.random() < 0.8:
            actions = [one for one in actions if one in _MOVING] or actions
        if actions:
            action = self.random.choice(actions)
            token = ADMIN if action in (*_RESETS, _MIGRATE, _LIVE, _OFFLOAD) else TOKEN
            expected = [200, 202, 204, 404, 409, 0, 503, 504]
            expected += [400] * (action in (*_MOVES, _LIVE, _UNSHELVE)) + [500] * (
                action in _INTERFACES
            )
            if action in _INTERFACES:
                status = self._change_interfaces(seen, next(iter(action)))
            else:
                path = f"/servers/{seen.uuid}/action"
                if action is _REBUILD:
                    action = {"rebuild": {"imageRef": self.world.ground.image}}
                status, _answer = self.world.ask("POST", path, action, token=token)
            self.sea.totals[f"{next(iter(action))} {status}"] += 1
            if status not in expected:
                self.wrong.append(f"{action} of {name} was answered {status}")
            if self.sea.raging:
                self._someday(lambda: self._change(name), 0.5, 12)

    def _change_interfaces(self, seen: Seen, way: str) -> int:
        path = f"/servers/{seen.uuid}/os-interface"
        if way == "attach":
            status, _answer = self.world.ask("POST", path, {"interfaceAttachment": {}})
            return status
        status, answer = self.world.ask("GET", path)
        for one in answer["interfaceAttachments"] if status == 200 else []:
            status, _answer = self.world.ask("DELETE", f"{path}/{one['port_id']}")
        return status

    def _find(self, name: str) -> Seen | None:
        truth = Truth(self.world)
        return next((seen for seen in truth.named(name) if seen.mapping), None)

    def _outages(self) -> list[tuple[set[str], str]]:
        plan, world = self.world.plan, self.world
        could = [(world.servers.away, plan.database_url(name)) for name in plan.databases]
        could += [(world.network.away, plan.bus_name(level)) for level in plan.bus_levels]
        return [outage for outage in could if self.random.random() < 0.1]

    def _cut_off(self, away: set[str], name: str) -> None:
        self.world.note(f"{name} is away")
        self.sea.totals["outages"] += 1
        away.add(name)
        self.world.loop.sleep(self.random.uniform(1, 15))
        away.discard(name)
        self.world.note(f"{name} is back")

    def _kill_one(self) -> None:
        alive = [process for process in self.world.processes.values() if not process.dead]
        if alive and self.sea.raging:
            self.sea.totals["kills"] += 1
            self.random.choice(alive).crash()

    def _lose_a_host(self) -> None:
        """Let a host be off for a while, and its servers be evacuated; then it is back."""
        host = self.random.choice(self.world.plan.all_hosts)
        self.off.add(host)
        self.sea.totals["hosts lost"] += 1
        self.world.lose(host)
        self._force_down(host, is_down=True)
        for seen in Truth(self.world).all_seen():
            if any(row.host == host for _cell, row in seen.rows):
                self._evacuate(seen.uuid)
        self.world.loop.sleep(self.random.uniform(1, 20))
        self.off.discard(host)
        self.world.start(host)
        self._force_down(host, is_down=False)

    def _evacuate(self, uuid: str) -> None:
        for _ in range(4):
            path = f"/servers/{uuid}/action"
            status, answer = self.world.ask("POST", path, {"evacuate": {}}, token=ADMIN)
            self.sea.totals[f"evacuate {status}"] += 1
            if status not in (200, 400, 404, 409, 0, 503, 504):
                self.wrong.append(f"evacuate of {uuid} was answered {status}: {answer}")
            if status in (200, 400, 404):
                return
            self.world.loop.sleep(4)  # something is under way

    def _force_down(self, host: str, *, is_down: bool) -> None:
        body = {"host": host, "binary": "nova-compute", "forced_down": is_down}
        while self.world.ask("PUT", "/os-services/force-down", body, token=ADMIN)[0] != 200:
            self.world.loop.sleep(1)

    def _restart_later(self, process: Process) -> None:
        if process.name in self.off:
            return
        delay = self.random.choice((0.5, 2.0, 5.0, 12.0, 40.0)) if self.sea.raging else 0.5
        self.world.loop.after(delay, lambda: self.world.start(process.name))

    def _someday(self, work: Callable[[], Any], earliest: float, latest: float) -> None:
        self._busy += 1

        def do() -> None:
            try:
                work()
            finally:
                self._busy -= 1

        delay = self.random.uniform(earliest, latest)
        self.world.loop.spawn(self.world.people, do, "story", delay)

    # how it ends

    def _calm(self) -> None:
        self.world.note("it is calm")
        self.sea.raging = False
        self.world.servers.away.clear()
        self.world.network.away.clear()

    def _until_order(self) -> tuple[list[str], float]:
        """Wait for order, and look again after a while whether it stays."""
        loop, calm_since = self.world.loop, self.world.loop.now
        wrong, since = ["nobody looked"], 0.0
        while loop.now < calm_since + PATIENCE:
            loop.run(loop.now + LOOK)
            before, wrong = wrong, self._look()
            if not wrong and before:
                since = loop.now - calm_since
            if not wrong and not before and not self.world.network.under_way:
                return self.wrong, since
        return self.wrong + wrong, PATIENCE

    def _look(self) -> list[str]:
        if self._busy:
            return ["people are still busy"]
        if not self.world.all_serve():
            return ["not all daemons serve"]
        kept = self.kept - self.gone
        return list(Truth(self.world).wrong(kept=sorted(kept), gone=self.gone))
