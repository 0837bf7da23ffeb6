"""The stories on daemons of their own: threads on RabbitMQ and PostgreSQL, eventlet on MariaDB."""

import shutil
import tempfile
from pathlib import Path

import pytest

from roost.rig import lifecycle
from roost.rig.plan import new_plan
from roost.rig.processes import Supervisor
from tests.stories.boots import *  # noqa: F403
from tests.stories.cloud import Cloud

QUICK = {"conductor": {"sweep_interval": 1.0, "lease_seconds": 3.0}}


class RealRig:
    """A rig of processes, as the stories want it."""

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

    def start_daemon(self, name):
        self._supervisor.start_process(name)

    def down(self):
        lifecycle.down(self.plan, say=print)
        shutil.rmtree(self._folder)


@pytest.fixture(
    scope="module",
    params=[("threading", "postgresql"), ("eventlet", "mariadb")],
    ids="-".join,
)
def cloud(request, rabbitmq):
    mode, kind = request.param
    database = request.getfixturevalue(kind)
    rig = RealRig(mode, rabbitmq.url(""), database.url(""))
    try:
        rig.up()
        cloud = Cloud(rig)
        yield cloud
        cloud.close()
    finally:
        rig.down()
