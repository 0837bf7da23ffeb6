"""A rig of real processes, as the stories want it."""

import contextlib
import shutil
import tempfile
from pathlib import Path

from roost.rig import backing, lifecycle
from roost.rig.install import disband, install
from roost.rig.plan import new_plan
from roost.rig.processes import Supervisor
from roost.rig.services.private import free_port

QUICK = {
    "conductor": {"sweep_interval": 1.0, "task_lease_seconds": 8.0},
}
# One that is stopped or killed is back before it counts as down, however slow the machine is.
PATIENT = {"DEFAULT": {"service_down_time": 60.0}}


class Daemons:
    """The daemons of a rig that runs: the stories kill them, and start them again."""

    def __init__(self, plan):
        self.plan = plan
        self.supervisor = Supervisor(plan.rig, plan.state)

    def kill(self, name):
        self.signal(name, "KILL")

    def terminate(self, name):
        self.signal(name, "TERM")

    def signal(self, name, signal):
        self.supervisor.signal(name, signal)

    def pids(self):
        return {process.name: process.pid for process in self.supervisor.list_processes()}

    def stop_daemon(self, name):
        """End one that does nothing more from then on: of a process, nothing is left."""
        self.kill(name)

    def start_daemon(self, name):
        self.supervisor.start_process(name)


class RealRig(Daemons):
    """Two cells of three hosts, in a folder of their own.

    :param broker: the service that has its virtual hosts, reached at ``bus`` if that is another way
    :param database: the service that has its databases, reached at ``db`` if that is another way
    :param overrides: options for all daemons, by group, besides what makes things happen soon
    :param inventory: what hosts pretend to have, by name
    :param size: how many ``cells`` and ``hosts``, and by which ``detours`` they are reached
    """

    def __init__(
        self,
        mode,
        broker,
        database,
        *,
        bus=None,
        db=None,
        overrides=None,
        inventory=None,
        **size,
    ):
        self._folder = Path(tempfile.mkdtemp(prefix="roost-test-"))
        self._mode, self._broker, self._database = mode, broker, database
        bare = new_plan(
            self._folder / "rig",
            port=free_port(),  # another rig may start beside it
            **{"cells": 2, "hosts": 3} | size,
            bus=bus or broker.url(""),
            database=db or database.url(""),
            overrides=QUICK | (overrides or {}),
            inventory=inventory or {},
        )
        super().__init__(backing.with_users(bare, say=print))

    def up(self):
        self.plan.save()
        backing.create_buses(self.plan, self._broker)
        backing.create_databases(self.plan, self._database)
        install(self.plan)
        lifecycle.launch(self.plan, mode=self._mode, say=print)

    def down(self):
        self.supervisor.stop()
        disband(self.plan)
        backing.remove_buses(self.plan, self._broker)
        backing.remove_databases(self.plan, self._database)
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
