"""A rig of real processes, as the stories want it."""

import shutil
import tempfile
from pathlib import Path

from roost.rig import lifecycle
from roost.rig.plan import new_plan
from roost.rig.processes import Supervisor

QUICK = {"conductor": {"sweep_interval": 1.0, "lease_seconds": 3.0}}


class RealRig:
    """Two cells of three hosts, in a folder of their own."""

    def __init__(self, mode, bus, database):
        self._folder = Path(tempfile.mkdtemp(prefix="roost-test-"))
        self._mode = mode
        self.plan = new_plan(
            self._folder / "rig", cells=2, hosts=3, bus=bus, database=database, overrides=QUICK
        )
        self._supervisor = Supervisor(self.plan.rig, self.plan.state)

    def up(self):
        lifecycle.up(self.plan, mode=self._mode, say=print)

    def kill(self, name):
        self._supervisor.signal(name, "KILL")

    def terminate(self, name):
        self._supervisor.signal(name, "TERM")

    def pids(self):
        return {process.name: process.pid for process in self._supervisor.list_processes()}

    def start_daemon(self, name):
        self._supervisor.start_process(name)

    def down(self):
        lifecycle.down(self.plan, say=print)
        shutil.rmtree(self._folder)
