"""A daemon's life in real processes, on a real broker, with native threads and with eventlet."""

import signal
import threading
from urllib.parse import urlsplit

import pytest

import roost.conf
from roost import migrations
from roost.context import admin_context
from roost.db.engine import Database
from roost.rig.forwarder import Forwarder
from roost.rpc.transport import Bus
from tests.fakes.processes import DaemonProcess
from tests.integration.echo_daemon import Echo


@pytest.fixture
def forwarder(rabbitmq_url):
    """A way to the broker that is closed at first."""
    broker = urlsplit(rabbitmq_url)
    forwarder = Forwarder((broker.hostname, broker.port or 5672))
    yield forwarder
    forwarder.close()


@pytest.fixture
def database(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/scheduler.db")
    yield database
    database.close()


@pytest.fixture
def start(tmp_path, mode, database, rabbitmq_url):
    """Start an echo daemon; its options may be overruled, and one may let its schema wait."""
    started = []

    def start(*, schema=True, **options):
        if schema:
            migrations.sync(database, "scheduler")
        values = {"concurrency": mode, "host": "here", "transport_url": rabbitmq_url, **options}
        config = tmp_path / "roost.conf"
        config.write_text(
            "[DEFAULT]\n"
            + "".join(f"{name} = {value}\n" for name, value in values.items())
            + f"[scheduler_database]\nconnection = {database.url}\n"
        )
        log = tmp_path / "daemon.log"
        started.append(DaemonProcess("tests.integration.echo_daemon", config, log))
        return started[-1]

    yield start
    for process in started:
        process.end()


@pytest.fixture
def echo(rabbitmq_url):
    bus = Bus(roost.conf.of({}), rabbitmq_url)
    yield Echo(bus)
    bus.close()


def ask(echo, **arguments):
    return echo.echo(admin_context(), **arguments)


def test_when_it_says_ready_it_answers_in_the_mode_asked_for(start, echo, mode):
    daemon = start()
    daemon.manager.wait_for("READY=1")
    answer = ask(echo, text="hello")
    assert answer["text"] == "hello"
    assert answer["mode"] == mode


def test_sigterm_answers_the_call_under_way_and_exits_0(start, echo):
    daemon = start()
    daemon.manager.wait_for("READY=1")
    answers = []
    call = threading.Thread(target=lambda: answers.append(ask(echo, text="slow", seconds=3)))
    call.start()
    daemon.wait_for_log("begins slow")
    daemon.terminate()
    call.join()
    assert answers[0]["text"] == "slow"
    assert daemon.exit_status() == 0
    assert any("STOPPING=1" in message for message in daemon.manager.hear())


def test_sighup_takes_up_options_while_the_same_process_serves_on(start, echo, tmp_path):
    daemon = start()
    daemon.manager.wait_for("READY=1")
    before = ask(echo, text="before")
    assert "at the debug level" not in daemon.log
    config = tmp_path / "roost.conf"
    config.write_text(config.read_text().replace("[DEFAULT]", "[DEFAULT]\ndebug = true"))
    daemon.send(signal.SIGHUP)
    daemon.wait_for_log("has reloaded")
    after = ask(echo, text="after")
    assert after["pid"] == before["pid"]
    assert after["ticks"] >= before["ticks"]
    daemon.wait_for_log("at the debug level")


def test_a_broker_that_is_down_at_start_is_waited_for(start, echo, forwarder, rabbitmq_url):
    url = urlsplit(rabbitmq_url)
    away = url._replace(netloc=f"{url.username}:{url.password}@127.0.0.1:{forwarder.port}")
    daemon = start(transport_url=away.geturl())
    place = f"echo waits for the broker at 127.0.0.1:{forwarder.port}, checks again in"
    daemon.wait_for_log(f"{place} 1 s")
    daemon.wait_for_log(f"{place} 2 s")
    assert daemon.running
    assert not daemon.manager.ready
    daemon.manager.wait_for("STATUS=waiting for the broker")
    forwarder.open()
    daemon.manager.wait_for("READY=1")
    assert ask(echo, text="hello")["text"] == "hello"


def test_a_broker_that_goes_away_later_is_waited_for(start, echo, forwarder, rabbitmq_url):
    url = urlsplit(rabbitmq_url)
    through = url._replace(netloc=f"{url.username}:{url.password}@127.0.0.1:{forwarder.port}")
    forwarder.open()
    daemon = start(transport_url=through.geturl())
    daemon.manager.wait_for("READY=1")
    forwarder.close()
    daemon.wait_for_log("AMQP server on 127.0.0.1")
    forwarder.open()
    assert ask(echo, text="again")["text"] == "again"


def test_a_schema_that_is_not_there_is_waited_for_with_the_command_to_run(start, database, echo):
    daemon = start(schema=False)
    daemon.wait_for_log("run roost-manage db sync scheduler")
    assert not daemon.manager.ready
    migrations.sync(database, "scheduler")
    daemon.manager.wait_for("READY=1")
    assert ask(echo, text="hello")["text"] == "hello"


def test_a_worker_that_dies_is_replaced(start, echo):
    daemon = start(workers=2)
    daemon.manager.wait_for("READY=1")
    daemon.wait_for_log("echo serves", times=2)
    victim = daemon.workers()[0]
    victim.kill()
    daemon.wait_for_log("echo serves", times=3)
    assert ask(echo, text="hello")["text"] == "hello"


def test_a_wrong_option_is_said_at_once_and_ends_the_process(start):
    daemon = start(workers="many")
    assert daemon.exit_status() == 78
    assert "many" in daemon.log


def test_a_database_that_is_down_at_start_is_waited_for(start, database, echo, postgresql_url):
    real = Database(postgresql_url)
    migrations.sync(real, "scheduler")
    server = real.engine.url
    forwarder = Forwarder((server.host, server.port or 5432))
    real.close()
    database.url = server.set(host="127.0.0.1", port=forwarder.port).render_as_string(
        hide_password=False
    )
    daemon = start(schema=False)
    daemon.wait_for_log("echo waits for the scheduler database, checks again in 2 s")
    assert not daemon.manager.ready
    forwarder.open()
    daemon.manager.wait_for("READY=1")
    assert ask(echo, text="hello")["text"] == "hello"
    daemon.end()
    forwarder.close()
