"""What Roost sets of oslo.messaging's own options, and who may say otherwise."""

import threading
import types

import pytest

from roost import conf
from roost.rpc import oslo_driver
from roost.rpc.oslo_driver import RABBIT_DEFAULTS
from roost.rpc.transport import Bus


@pytest.fixture
def read(tmp_path):
    """Read a file, and make a bus of it."""

    def read(text=""):
        path = tmp_path / "roost.conf"
        path.write_text(text)
        options = conf.load(["--config-file", str(path)], files=[])
        Bus(options, "rabbit://guest:guest@127.0.0.1:1/nowhere").close()
        return options.oslo_messaging_rabbit

    return read


def test_every_option_that_has_our_default_is_one_of_the_driver(read):
    options = read()
    assert {name: options[name] for name in RABBIT_DEFAULTS} == RABBIT_DEFAULTS


def test_a_file_may_say_otherwise(read):
    assert read("[oslo_messaging_rabbit]\nrabbit_interval_max = 7\n").rabbit_interval_max == 7


def test_who_listens_does_not_try_without_a_pause(monkeypatch):
    pauses = []
    monkeypatch.setattr(oslo_driver, "time", types.SimpleNamespace(sleep=pauses.append))
    bus = Bus(conf.of({}), "rabbit://guest:guest@127.0.0.1:1/nowhere")
    made = bus.transport._driver._connection_pool.connection_cls
    monkeypatch.setattr(made.__base__, "consume", lambda _self, _timeout: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        made.consume(object.__new__(made), 5)
    assert pauses == [oslo_driver._PAUSE]
    bus.close()


def test_connections_that_nobody_sends_by_can_be_closed():
    bus = Bus(conf.of({}), "rabbit://guest:guest@127.0.0.1:1/nowhere")
    pool = bus.transport._driver._connection_pool
    closed = threading.Semaphore(0)
    connection = types.SimpleNamespace(close=closed.release)
    pool.create = lambda retry=None: connection
    pool.put(pool.get())
    oslo_driver.close_idle(bus.transport)
    assert closed.acquire(timeout=30)
    assert (pool._current_size, len(pool._items)) == (0, 0)
    bus.close()
