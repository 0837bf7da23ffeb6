"""A rig of real processes, as the stories want it."""

import contextlib
import shutil
import tempfile
from pathlib import Path

from roost.rig import lifecycle
from roost.rig.install import install
from roost.rig.plan import new_plan
from roost.rig.processes import Supervisor

QUICK = {"conductor": {"sweep_interval": 1.0, "lease_seconds": 3.0}}


class RealRig:
    """Two cells of three hosts, in a folder of their own.

    :param broker: the service that has its virtual hosts, reached at ``bus`` if that is another way
    :param database: the service that has its databases, reached at ``db`` if that is another way
    """

    def __init__(self, mode, broker, database, *, bus=None, db=None):
        self._folder = Path(tempfile.mkdtemp(prefix="roost-test-"))
        self._mode, self._broker, self._database = mode, broker, database
        self.plan = new_plan(
            self._folder / "rig",
            cells=2,
            hosts=3,
            bus=bus or broker.url(""),
            database=db or database.url(""),
            overrides=QUICK,
        )
        self._supervisor = Supervisor(self.plan.rig, self.plan.state)

    def up(self):
        self.plan.save()
        for level in self.plan.bus_levels:
            self._broker.create_vhost(self.plan.bus_name(level))
        for whose in self.plan.databases:
            self._database.create_database(self.plan.database_name(whose))
        install(self.plan)
        lifecycle.launch(self.plan, mode=self._mode, say=print)

    def kill(self, name):
        self._supervisor.signal(name, "KILL")

    def terminate(self, name):
        self._supervisor.signal(name, "TERM")

    def pids(self):
        return {process.name: process.pid for process in self._supervisor.list_processes()}

    def start_daemon(self, name):
        self._supervisor.start_process(name)

    def down(self):
        self._supervisor.stop()
        for level in self.plan.bus_levels:
            self._broker.delete_vhost(self.plan.bus_name(level))
        for whose in self.plan.databases:
            self._database.drop_database(self.plan.database_name(whose))
        shutil.rmtree(self._folder)


@contextlib.contextmanager
def running(*services, **ways):
    """A :class:`RealRig` while the block lasts."""
    rig = RealRig(*services, **ways)
    try:
        rig.up()
        yield rig
    finally:
        rig.down()
