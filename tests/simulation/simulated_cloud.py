"""Puts a world together: two cells of two hosts, with all daemons.

What it stands on (plan, options, databases as just installed) is made once per process.
"""

import contextlib
import hashlib
import importlib
import io
import json
import multiprocessing.util
import pathlib
import pkgutil
import random
import shutil
import tempfile
from collections.abc import Callable
from typing import Any, Self

import roost.cmd
from roost.cmd import _options
from roost.context import admin_context
from roost.db.api import flavors, quota
from roost.db.engine import Database
from roost.image.local import LocalImageStore
from roost.rig.install import install, map_hosts
from roost.rig.plan import Plan
from roost.rpc.transport import Bus
from tests.builders import a_flavor
from tests.simulation import substitutes, twins
from tests.simulation.databases import Disks, Servers
from tests.simulation.fault_model import Calm
from tests.simulation.loop import Loop
from tests.simulation.network import Network, SimBus
from tests.simulation.processes import People, Process, guests_of, replacements

PROJECT = "project"
USER = "user"
TOKEN = f"{USER}:{PROJECT}"
ADMIN = f"admin:{PROJECT}"
# Seconds. What is rare costs little, and what is short need not be waited for.
_OPTIONS = {
    "DEFAULT": {"service_report_interval": 12.0, "service_down_time": 40.0},
    "compute": {"reconcile_interval": 40.0, "shelved_offload_time": -1},
    "conductor": {
        "sweep_interval": 6.0,
        "task_lease_seconds": 15.0,
    },
}
_WRONG = 600.0  # seconds, at most, by which the clocks of daemons are wrong


class Ground:
    """What all worlds of this process stand on."""

    _only: "Ground | None" = None

    def __init__(self, folder: pathlib.Path) -> None:
        self.plan = Plan("world", folder, cells=2, hosts=2, port=1, overrides=_OPTIONS)
        self.plan.save()
        install(self.plan)
        map_hosts(self.plan)
        self._furnish()
        self.disks = Disks(
            {
                self.plan.database_url(name): f"{folder}/db/{name}.sqlite"
                for name in self.plan.databases
            }
        )
        self.confs = {daemon.name: self._conf(daemon) for daemon in self.plan.daemons}
        self.modules = [
            importlib.import_module(f"roost.cmd.{found.name}")
            for found in pkgutil.iter_modules(roost.cmd.__path__)
            if found.name not in ("manage", "wsgi")
        ] + [importlib.import_module("roost.compute.host")]
        self.image = LocalImageStore(self.plan.images).list_images(admin_context())[0].id
        self.began = 0.0
        self._warm_up()

    def _furnish(self) -> None:
        """Make something to ask for that no host has; and let what its user has be counted."""
        database = Database(self.plan.database_url("api"))
        with database.begin() as session:
            flavors.create(session, a_flavor(flavorid="huge", name="huge", vcpus=5000))
            quota.set_for_user(session, PROJECT, USER, {"instances": 1000})
        database.close()

    def _warm_up(self) -> None:
        """Begin every world where all daemons have found each other once."""
        with World("warm up", ground=self) as world:
            world.start()
            world.loop.run(12.0)
            assert world.all_serve(), world.loop.accidents
        self.disks.keep()
        self.began = 12.0

    @classmethod
    def get(cls) -> "Ground":
        if cls._only is None:
            folder = pathlib.Path(tempfile.mkdtemp(prefix="roost-world-", dir=_fast_folder()))
            # At the end of a worker of multiprocessing, too, where atexit is not asked.
            multiprocessing.util.Finalize(
                None, shutil.rmtree, (folder,), {"ignore_errors": True}, exitpriority=1
            )
            cls._only = cls(folder)
        return cls._only

    def _conf(self, daemon: Any) -> Any:
        where = ["--config-file", str(self.plan.config_file(daemon.name))]
        conf = _options.read(daemon.program, where)
        Bus(conf).close()  # makes the library's options known to it
        return conf

    def clear(self) -> None:
        self.disks.reset()
        for host in self.plan.all_hosts:
            shutil.rmtree(self.host_folder(host) / "guests", ignore_errors=True)
        for path in self.plan.images.iterdir():
            if self.image not in path.name:
                path.unlink()

    def host_folder(self, host: str) -> pathlib.Path:
        return self.plan.state / "var" / host / host


class World:
    """One run of everything: ``with World(seed) as world``.

    :param seed: decides names and the order of what happens at once
    :param sea: what goes wrong
    :param retained_for: seconds for which servers that users delete can be restored
    :param tell: called with a line about each thing that happens
    """

    def __init__(
        self,
        seed: object,
        sea: Calm | None = None,
        *,
        tell: Callable[[str], None] = lambda _: None,
        ground: Ground | None = None,
        retained_for: int = 0,
    ) -> None:
        self._seed, self.retained_for = seed, retained_for
        self.ground = ground or Ground.get()
        self.plan, self.modules = self.ground.plan, self.ground.modules
        self.sea, self._tell = sea or Calm(), tell
        self.loop = Loop(seed, self.ground.began)
        self.network = Network(self.loop, self.sea, self.note)
        self.servers = Servers(self.loop, self.sea, self.ground.disks)
        self.people = People("people")
        self.processes: dict[str, Process] = {}
        self.on_death: Callable[[Process], None] = lambda process: None
        self._digest = hashlib.sha256()
        self._open = contextlib.ExitStack()

    def __enter__(self) -> Self:
        substitutes.install()
        self.ground.clear()
        for conf in self.ground.confs.values():
            conf.set_override("reclaim_instance_interval", self.retained_for, group="conductor")
        for module, name, ours in replacements(self):
            self._open.callback(setattr, module, name, getattr(module, name))
            setattr(module, name, ours)
        self._open.enter_context(self.loop)
        return self

    def __exit__(self, *_details: object) -> None:
        for process in self.processes.values():
            process.crash()
        self.people.dead = True
        self.people.end_tasks()
        self._open.close()

    @property
    def digest(self) -> str:
        """A number for all that has happened."""
        return self._digest.hexdigest()[:16]

    def note(self, what: str) -> None:
        line = f"{self.loop.now:10.4f} {what}"
        self._digest.update(line.encode())
        self._tell(line)

    # daemons

    def start(self, *names: str) -> None:
        """Start daemons; without names all of them."""
        for name in names or [daemon.name for daemon in self.plan.daemons]:
            old = self.processes.get(name)
            if old is not None and not old.dead:
                continue
            program = self.plan.find(name).program
            self.note(f"{name} starts")
            self.processes[name] = Process(self, name, program, self.ground.confs[name])
            self.processes[name].start()

    def clock_of(self, name: str) -> tuple[float, float]:
        """Return the seconds by which a daemon's clock is ahead, and since its machine's start.

        Those of hosts are not behind what they were when this world was prepared.
        """
        chance = random.Random(f"{self._seed} clock of {name}")
        least = 0 if name in self.plan.all_hosts else -_WRONG
        return chance.uniform(least, _WRONG), chance.uniform(0, 1e6)

    def buried(self, process: Process) -> None:
        self.note(f"{process.name} dies")
        self.on_death(process)

    def all_serve(self) -> bool:
        return all(process.serves for process in self.processes.values())

    def bus(self, conf: Any, url: str | None = None) -> SimBus:
        return SimBus(self.network, conf, url)

    # people

    def do(self, work: Callable[[], Any], *, within: float = 600.0, owner: Any = None) -> Any:
        """Let somebody do something, and the world go on until it is done; return what came."""
        answers: list[Any] = []
        task = self.loop.spawn(owner or self.people, lambda: answers.append(work()), "errand")
        until = self.loop.now + within
        while not task.done and self.loop.now < until:
            self.loop.run(min(until, self.loop.now + 0.05))
        for at, (failed, error) in enumerate(self.loop.accidents):
            if failed is task:
                del self.loop.accidents[at]
                raise error
        return answers[0] if answers else None

    def ask(
        self, method: str, path: str, body: Any = None, *, token: str = TOKEN
    ) -> tuple[int, Any]:
        """Send a request to the API, from a task; status 0: the connection broke."""
        api = self.processes["api"]
        answer: list[tuple[int, Any]] = []
        over = substitutes.Event()

        def serve() -> None:
            try:
                answer.append(_call(api.app, method, path, body, token))
            finally:
                over.set()

        if not api.serves:
            return 0, None
        self.loop.spawn(api, serve, f"{method} {path}")
        over.wait(90.0)
        status = answer[0] if answer else (0, None)
        self.note(f"{method} {path}: {status[0]}")
        return status

    def lose(self, host: str) -> None:
        """Let a host be off, with its guests."""
        if not self.processes[host].dead:
            self.processes[host].crash()
        twins.cut_off(self.ground.host_folder(host))

    def guests(self) -> dict[str, list[str]]:
        """Return the guests of each host."""
        return {host: guests_of(self.ground.host_folder(host)) for host in self.plan.all_hosts}


def _call(app: Any, method: str, path: str, body: Any, token: str) -> tuple[int, Any]:
    """Call a WSGI application."""
    data = b"" if body is None else json.dumps(body).encode()
    told: list[str] = []
    answer = app(
        {
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": "",
            "PATH_INFO": path if path.startswith("/network/") else f"/v2.1{path}",
            "QUERY_STRING": "",
            "SERVER_NAME": "world",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "CONTENT_TYPE": "application/json",
            "CONTENT_LENGTH": str(len(data)),
            "HTTP_X_AUTH_TOKEN": token,
            "HTTP_OPENSTACK_API_VERSION": "compute 2.37",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(data),
            "wsgi.errors": io.StringIO(),
            "wsgi.multithread": True,
            "wsgi.multiprocess": True,
            "wsgi.run_once": False,
        },
        lambda status, _headers, *_error: told.append(status),
    )
    text = b"".join(answer)
    return int(told[0].split()[0]), json.loads(text) if text else None


def _fast_folder() -> str | None:
    memory = pathlib.Path("/dev/shm")  # where files cost nothing
    return str(memory) if memory.is_dir() else None
