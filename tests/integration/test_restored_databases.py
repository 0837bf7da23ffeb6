"""Backups of real databases, as doc/restore.rst makes them, are put back under real daemons."""

import contextlib
import os
import pathlib
import subprocess
import sys

import pytest

from roost.rig.services.private import program
from tests.stories.cloud import Cloud
from tests.stories.real_rig import QUICK, running
from tests.stories.restored_tasks import *  # noqa: F403
from tests.stories.restores import *  # noqa: F403
from tests.stories.restores import SOON

pytestmark = pytest.mark.timeout(900)
MANAGE = pathlib.Path(sys.executable).parent / "roost-manage"
OPTIONS = SOON | {"conductor": SOON["conductor"] | QUICK["conductor"]}


class Dumps:
    """Backs databases up and puts them back by the tools of their server."""

    def __init__(self, plan, server, folder):
        self._plan, self._server, self._folder = plan, server, folder

    @contextlib.contextmanager
    def of(self, whose):
        """Back a database up, and put it back when the block ends."""
        name, copy = self._plan.database_name(whose), self._folder / f"{whose}.dump"
        self.back_up(name, copy)
        yield
        self.put_back(name, copy)


class PostgresqlDumps(Dumps):
    def back_up(self, name, copy):
        run([self._tool("pg_dump"), "--format=custom", f"--file={copy}", self._url(name)])

    def put_back(self, name, copy):
        whole = ("--clean", "--if-exists", "--single-transaction")
        run([self._tool("pg_restore"), *whole, f"--dbname={self._url(name)}", str(copy)])

    def _url(self, name):
        return self._server.url(name).replace("+psycopg", "")

    @staticmethod
    def _tool(name):
        return program(name, "/usr/lib/postgresql/*/bin", package="postgresql")


class MariadbDumps(Dumps):
    def back_up(self, name, copy):
        with copy.open("wb") as file:
            run([*self._tool("mariadb-dump"), "--single-transaction", name], stdout=file)

    def put_back(self, name, copy):
        with copy.open("rb") as file:
            run([*self._tool("mariadb"), name], stdin=file)

    def _tool(self, name):
        at = self._server.address
        where = (f"--host={at.host}", f"--port={at.port}", f"--user={at.user}")
        return [program(name, package="mariadb-client"), "--no-defaults", *where]


def run(command, **files):
    subprocess.run(command, check=True, timeout=120, env=os.environ, **files)


@pytest.fixture(
    scope="module",
    params=[("threading", "postgresql"), ("eventlet", "mariadb")],
    ids="-".join,
)
def deployment(request, rabbitmq, tmp_path_factory):
    """A rig of one cell, and the backups of its databases."""
    mode, kind = request.param
    server = request.getfixturevalue(kind)
    dumps = {"postgresql": PostgresqlDumps, "mariadb": MariadbDumps}[kind]
    with running(mode, rabbitmq, server, overrides=OPTIONS, cells=1, hosts=2) as rig:
        cloud = Cloud(rig)
        yield cloud, dumps(rig.plan, server, tmp_path_factory.mktemp("dumps"))
        cloud.close()


@pytest.fixture
def cloud(deployment):
    return deployment[0]


@pytest.fixture
def copies(deployment):
    return deployment[1]


@pytest.fixture
def manage(cloud):
    def manage(*words, code=0, file="manage"):
        files = ["--config-file", str(cloud.plan.config_file(file))]
        done = subprocess.run([MANAGE, *files, *words], capture_output=True, text=True, timeout=120)
        assert code in (None, done.returncode), done.stdout + done.stderr
        return done.stdout

    return manage
