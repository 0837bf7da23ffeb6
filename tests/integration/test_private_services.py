"""Private services start beside those that run, do their work, and leave nothing behind."""

import pathlib

import kombu
import psutil
import pytest
import sqlalchemy as sa

from roost import exception
from roost.rig import services


def gone(pids):
    states = [psutil.Process(pid).status() for pid in pids if psutil.pid_exists(pid)]
    return all(state == psutil.STATUS_ZOMBIE for state in states)


@pytest.fixture(params=services.KINDS)
def private(request, tmp_path):
    service = services.KINDS[request.param].start(tmp_path)
    yield service
    service.stop()


def use(service):
    name = services.unique_name("private")
    if isinstance(service, services.RabbitMQ):
        url = service.create_vhost(name)
        with kombu.Connection(url.replace("rabbit://", "amqp://")) as connection:
            connection.SimpleQueue("hello").put("world")
            return connection.SimpleQueue("hello").get(timeout=5).payload
    engine = sa.create_engine(service.create_database(name))
    with engine.begin() as connection:
        found = connection.scalar(sa.text("SELECT 'world'"))
    engine.dispose()
    return found


def test_a_private_service_works_is_found_again_and_leaves_nothing(private, tmp_path):
    assert use(private) == "world"

    again = type(private).start(tmp_path)
    assert again.address == private.address

    pids, folder = private.private.pids, private.private.folder
    assert pids
    private.stop()
    assert gone(pids)
    assert not folder.exists()
    assert [path.name for path in tmp_path.iterdir()] == [f"{private.kind}.log"]


def test_a_service_whose_starter_was_killed_can_be_stopped_by_another(private, tmp_path):
    pids = private.private.pids

    type(private).start(tmp_path).stop()

    assert gone(pids)


def test_a_missing_package_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(pathlib.Path, "glob", lambda *_: iter(()))
    monkeypatch.setenv("ROOST_TEST_POSTGRESQL", "postgresql://nobody@127.0.0.1:1")

    with pytest.raises(exception.Unavailable) as missing:
        services.PostgreSQL.find_or_start(tmp_path)

    assert "127.0.0.1:1 does not let us in" in missing.value.message
    assert "apt-get install postgresql" in missing.value.message
