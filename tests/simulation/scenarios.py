"""One thing that users ask for, in a calm world, with one mishap at one place.

The world is run once to count the places where a daemon does something that others can see (a
message, a commit, a step on a host); then once per place, and there the daemon dies.
"""

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from roost import states
from roost.db import wire
from tests.simulation.fault_model import Calm, Mortal
from tests.simulation.loop import Killed
from tests.simulation.processes import Process
from tests.simulation.simulated_cloud import ADMIN, TOKEN, World
from tests.simulation.system_state import Truth

_ADMINISTRATORS = {"os-resetState", "migrate", "os-migrateLive", "shelveOffload"}

PATIENCE = 240.0  # seconds until everything must be in order
OFTEN = 2  # times that a daemon dies at the same place
# Work that goes on all the time and has no part in what users ask for.
ALWAYS = {
    "heartbeat",
    "report_service",
    "liveness",
    "update_liveness",
    "read parts",
    "list_read_parts",
    "service group",
    "snapshots",
    "update_aggregates",
    "update_groups",
    "expiry",
    "echo",
    "listening",
    "start",
}


class Reef(Calm):
    """Calm but for one place: the daemon that comes to the ``at``-th dies there.

    :param failing: steps on hosts, and how each fails when it is done for the first time
    """

    def __init__(self, at: int | None = None, failing: dict[str, str] | None = None) -> None:
        super().__init__()
        self.at, self.failing = at, dict(failing or {})
        self.places: list[str] = []
        self.watching = False

    def point(self, process: Mortal, what: str) -> None:
        task = process.world.loop.task if isinstance(process, Process) else None
        if not self.watching or task is None or task.name in ALWAYS:
            return
        if what.startswith(("before commit", "before sending")):
            return  # nobody can tell it from the place before
        place = f"{process.name} {what} in {task.name}"
        if self.places.count(place) == OFTEN:
            return
        self.places.append(place)
        if len(self.places) - 1 == self.at:
            process.crash()
            raise Killed

    def guest_fails(self, step: str) -> str | None:
        return self.failing.pop(step, None)


@dataclasses.dataclass(frozen=True)
class Scenario:
    """What users do, and what must have become of it.

    :param act: called with a :class:`User`, in a task
    :param failing: steps on hosts that fail once, and how
    :param retained_for: seconds for which servers that users delete can be restored
    """

    name: str
    act: Callable[["User"], object]
    failing: dict[str, str] = dataclasses.field(default_factory=dict)
    retained_for: int = 0


class User:
    """Somebody who does not give up.

    ``lenient`` takes an ERROR for an answer, since something has gone wrong.
    """

    def __init__(self, world: World, reef: Reef) -> None:
        self.world = world
        self.lenient = reef.at is not None
        self.kept: set[str] = set()
        self.gone: set[str] = set()

    def boot(
        self,
        *,
        flavor: str = "1",
        count: int = 1,
        networks: str = "auto",
        name: str | None = None,
    ) -> list[str]:
        """Ask for servers; one who hears nothing does not know what became of it."""
        name = name or f"server{len(self.kept)}"
        asked = {
            "name": name,
            "flavorRef": flavor,
            "imageRef": self.world.ground.image,
            "networks": networks,
            "min_count": count,
        }
        status, _answer = self.world.ask("POST", "/servers", {"server": asked})
        assert status in (202, 0, 503), status
        names = [name] if count == 1 else [f"{name}-{at}" for at in range(1, count + 1)]
        if status == 202:
            self.kept.update(names)
        return names

    def put_away(self, name: str) -> None:
        """Delete a server that can be restored (one in ERROR cannot), and wait until it is."""
        self.delete(name)
        for _ in range(400):
            if any(row.soft_deleted_at for _cell, row in self._rows(name)):
                self.gone.discard(name)
                return
            if not self._rows(name):
                return
            self.world.loop.sleep(0.25)
        raise AssertionError(f"{name} is not put away")

    def restore(self, name: str) -> None:
        """Restore a server, unless it could not be put away."""
        if name not in self.gone:
            self.act(name, {"restore": None})
            self.kept.add(name)

    def delete(self, name: str, *, by_force: bool = False) -> None:
        for _ in range(60):
            uuid = self.uuid(name)
            if uuid is None:
                break
            path = f"/servers/{uuid}"
            if by_force:
                status, _answer = self.world.ask("POST", f"{path}/action", {"forceDelete": None})
            else:
                status, _answer = self.world.ask("DELETE", path)
            assert status in (202, 204, 404, 0, 503), status
            if status in (202, 204, 404):
                break
            self.world.loop.sleep(1)
        self.kept.discard(name)
        self.gone.add(name)

    def act(self, name: str, action: dict[str, Any]) -> None:
        """Stop, start, pause and so on; a conflict says that it was asked for, or done, before."""
        for _ in range(100):
            path = f"/servers/{self.uuid(name)}/action"
            token = ADMIN if _ADMINISTRATORS & action.keys() else TOKEN
            status, answer = self.world.ask("POST", path, action, token=token)
            assert status in (200, 202, 204, 409, 0, 503, 504), status
            if status == 409 and "is being resized already" in str(answer):
                pass  # its quota is given back later: the API died before it began
            elif status in (200, 202, 204, 409):
                return
            self.world.loop.sleep(1)

    def shelve(self, name: str) -> None:
        """Shelve a server; if that came to nothing, as nobody had made the image, again."""
        for _ in range(60):
            self.act(name, {"shelve": None})
            rests = [row for _cell, row in self._rows(name) if row.task_state is None]
            if any(row.vm_state == states.SHELVED for row in rests) or not self._rows(name):
                return
            self.world.loop.sleep(2)

    def attach(self, name: str, port_id: str | None = None) -> None:
        """Attach an interface, and wait until nobody works on it; who hears nothing asks again."""
        asked = {} if port_id is None else {"port_id": port_id}
        self._change_interfaces("POST", name, "", {"interfaceAttachment": asked})

    def make_port(self) -> str:
        """Create a port of the user, and return its id."""
        networks = self.world.ask("GET", "/network/v2.0/networks")[1]["networks"]
        port = {"network_id": networks[0]["id"]}
        status, answer = self.world.ask("POST", "/network/v2.0/ports", {"port": port})
        assert status == 201, status
        return str(answer["port"]["id"])

    def detach(self, name: str) -> None:
        """Detach the first interface, likewise."""
        ((_cell, row),) = self._rows(name)
        port_id = wire.load(row.network_info).vifs[0].id
        self._change_interfaces("DELETE", name, f"/{port_id}", None)

    def _change_interfaces(self, method: str, name: str, port: str, asked: Any) -> None:
        for _ in range(60):
            path = f"/servers/{self.uuid(name)}/os-interface{port}"
            status, _answer = self.world.ask(method, path, asked)
            assert status in (200, 202, 404, 409, 0, 500, 503, 504), status
            while any(seen.operations for seen in Truth(self.world).named(name)):
                self.world.loop.sleep(1)
            if status not in (0, 503):
                return
            self.world.loop.sleep(1)

    def rebuild(self, name: str) -> None:
        self.act(name, {"rebuild": {"imageRef": self.world.ground.image}})

    def lose_host(self, name: str) -> str:
        """Let the host of a server be off for good, and an administrator say so; return it."""
        ((_cell, row),) = self._rows(name)
        world, host = self.world, str(row.host)
        on_death, world.on_death = world.on_death, lambda _process: None
        world.lose(host)
        world.on_death = on_death
        self.force_down(host)
        return host

    def return_host(self, host: str) -> None:
        self.world.start(host)
        self.force_down(host, is_down=False)

    def force_down(self, host: str, *, is_down: bool = True) -> None:
        body = {"host": host, "binary": "nova-compute", "forced_down": is_down}
        for _ in range(60):
            if self.world.ask("PUT", "/os-services/force-down", body, token=ADMIN)[0] == 200:
                return
            self.world.loop.sleep(1)
        raise AssertionError(f"nobody says that {host} is down: {is_down}")

    def evacuate(self, name: str) -> None:
        """Have a server created on another host, unless it is there already."""
        for _ in range(100):
            path = f"/servers/{self.uuid(name)}/action"
            status, answer = self.world.ask("POST", path, {"evacuate": {}}, token=ADMIN)
            assert status in (200, 400, 409, 0, 503, 504), (status, answer)
            if status in (200, 400, 409):  # 400: its host is up, by now
                return
            self.world.loop.sleep(1)

    def wait_for(self, name: str, vm_state: str) -> None:
        for _ in range(400):
            rows = [row for seen in Truth(self.world).named(name) for _cell, row in seen.rows]
            resting = {row.vm_state for row in rows if row.task_state is None}
            if vm_state in resting or (self.lenient and states.ERROR in resting):
                return
            if not rows and name not in self.kept:
                return  # it was not accepted
            self.world.loop.sleep(0.25)
        raise AssertionError(f"{name} does not come to be {vm_state}")

    def _rows(self, name: str) -> list[tuple[str, Any]]:
        return [row for seen in Truth(self.world).named(name) for row in seen.rows]

    def uuid(self, name: str) -> str | None:
        found = [seen.uuid for seen in Truth(self.world).named(name) if seen.mapping]
        return found[0] if found else None


def run(scenario: Scenario, reef: Reef, *, seed: object = 0) -> Iterator[str]:
    """Run a scenario and yield what is wrong in the end; then delete all, and what is left."""
    reef.failing = dict(scenario.failing)
    with World(seed, reef, retained_for=scenario.retained_for) as world:
        world.on_death = lambda process: world.loop.after(1.0, lambda: world.start(process.name))
        world.start()
        world.loop.run(world.loop.now + 2.5)
        assert world.all_serve(), world.loop.accidents
        user = User(world, reef)
        reef.watching = True
        try:
            world.do(lambda: scenario.act(user))
        except AssertionError as error:
            yield str(error)
        yield from in_order(world, user)
        reef.watching = False
        world.do(lambda: _delete_all(world, user, by_force=bool(scenario.retained_for)))
        yield from in_order(world, user)
        for task, error in world.loop.accidents:
            yield f"{task} had an accident: {error!r}"


def _delete_all(world: World, user: User, *, by_force: bool) -> None:
    for name in sorted({*Truth(world).names.values()}):
        user.delete(name, by_force=by_force)


def in_order(world: World, user: User) -> Iterator[str]:
    """Let the world go on until all is in order; yield what is wrong in the end."""
    until = world.loop.now + PATIENCE
    wrong = ["nobody looked"]
    while wrong and world.loop.now < until:
        world.loop.run(world.loop.now + 0.5)
        wrong = list(Truth(world).wrong(kept=sorted(user.kept), gone=user.gone))
        if not world.all_serve():
            wrong.append("not all daemons serve")
    yield from wrong
