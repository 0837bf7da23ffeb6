"""A deployment on SQLite files, and roost-manage working on it."""

import json
import shutil
import types

import pytest
from click.testing import CliRunner

from roost import migrations
from roost.cmd.manage.cli import roost_manage
from roost.db.engine import Database
from roost.scheduler import client


@pytest.fixture
def databases(tmp_path):
    """Databases by name, empty at first: api, scheduler, cell0, cell1, cell2."""
    names = ("api", "scheduler", "cell0", "cell1", "cell2")
    made = {name: Database(f"sqlite:///{tmp_path}/{name}.sqlite") for name in names}
    yield types.SimpleNamespace(**made)
    for database in made.values():
        database.close()


@pytest.fixture(autouse=True)
def _no_scheduler_is_waited_for_long(monkeypatch):
    monkeypatch.setattr(client, "PROBE_SECONDS", 1)


@pytest.fixture
def config_file(tmp_path, databases):
    path = tmp_path / "roost.conf"
    path.write_text(
        "[DEFAULT]\n"
        "transport_url = fake:///api\n"
        f"state_path = {tmp_path}\n"
        f"[api_database]\nconnection = {databases.api.url}\n"
        f"[scheduler_database]\nconnection = {databases.scheduler.url}\n"
    )
    return path


@pytest.fixture
def bare(config_file):
    """Run roost-manage on databases without schemas; ``.json`` is the parsed answer."""

    def run(*arguments, code=0, stdin=None, env=None):
        command = ["--config-file", str(config_file), *map(str, arguments)]
        result = CliRunner().invoke(roost_manage, command, input=stdin, env=env)
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        parsed = json.loads(result.stdout) if "--json" in arguments else None
        return types.SimpleNamespace(out=result.stdout, err=result.stderr, json=parsed)

    return run


@pytest.fixture(scope="session")
def templates(tmp_path_factory):
    """A file per schema, made once: to copy is quicker than to migrate."""
    folder = tmp_path_factory.mktemp("templates")
    for schema in (migrations.API, migrations.SCHEDULER, migrations.CELL):
        database = Database(f"sqlite:///{folder}/{schema}.sqlite")
        migrations.sync(database, schema)
        database.close()
    return folder


@pytest.fixture
def manage(bare, templates, tmp_path):
    """Run roost-manage on databases that have their schemas."""
    schemas = {"api": migrations.API, "scheduler": migrations.SCHEDULER}
    for name in ("api", "scheduler", "cell0", "cell1", "cell2"):
        schema = schemas.get(name, migrations.CELL)
        shutil.copy(templates / f"{schema}.sqlite", tmp_path / f"{name}.sqlite")
    return bare


@pytest.fixture
def cell1(manage, databases):
    """cell0 and cell1 are mapped; the uuid of cell1."""
    manage("cell", "map-cell0", "--database-url", databases.cell0.url)
    urls = ("--transport-url", "fake:///cell1", "--database-url", databases.cell1.url)
    return manage("cell", "create", "--name", "cell1", *urls, "--json").json["uuid"]
