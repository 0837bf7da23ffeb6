"""Copies of SQLite databases are put back under a running deployment in one process."""

import contextlib
import sqlite3

import pytest
from click.testing import CliRunner

from roost.cmd.manage.cli import roost_manage
from tests.functional.embedded import embedded_cloud
from tests.stories.restored_tasks import *  # noqa: F403
from tests.stories.restores import *  # noqa: F403
from tests.stories.restores import SOON


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    with embedded_cloud(tmp_path_factory.mktemp("rig"), cells=1, hosts=2, overrides=SOON) as cloud:
        yield cloud


@pytest.fixture
def manage(cloud):
    def manage(*words, code=0, file="manage"):
        files = ["--config-file", str(cloud.plan.config_file(file))]
        done = CliRunner().invoke(roost_manage, [*files, *words])
        assert code in (None, done.exit_code), done.output
        return done.stdout

    return manage


class Copies:
    """Copies of files, page by page, which SQLite makes while others write."""

    def __init__(self, cloud, folder):
        self._files, self._folder = cloud.plan.state / "db", folder

    @contextlib.contextmanager
    def of(self, whose):
        """Back a database up, and put it back when the block ends."""
        original, copy = self._files / f"{whose}.sqlite", self._folder / f"{whose}.copy"
        _copy(original, copy)
        yield
        _copy(copy, original)


def _copy(source, target):
    with (
        contextlib.closing(sqlite3.connect(source, timeout=30)) as old,
        contextlib.closing(sqlite3.connect(target, timeout=30)) as new,
    ):
        old.backup(new)


@pytest.fixture
def copies(cloud, tmp_path):
    return Copies(cloud, tmp_path)
