import threading

import pytest

from roost.cmd._daemon import Daemon, Periodic
from roost.cmd._waiting import StartupCheck


class Diary:
    """What happened, in order; makes parts that write into it."""

    def __init__(self):
        self.lines = []

    def write(self, line):
        return lambda: self.lines.append(line)

    def check(self, name):
        return StartupCheck(name, self.write(name))

    def closable(self, name):
        return type("Closable", (), {"close": staticmethod(self.write(name))})()


class FakeServer:
    """A server whose requests under way end when ``answered`` is set."""

    address = "its address"

    def __init__(self, diary, name="server", *, refusals=0):
        self.diary, self.name = diary, name
        self.refusals = refusals
        self.answered = threading.Event()
        self.answered.set()

    def start(self):
        if self.refusals:
            self.refusals -= 1
            raise OSError("refused")
        self.diary.lines.append(f"{self.name} starts")

    def stop(self):
        self.diary.lines.append(f"{self.name} stops")

    def wait(self):
        self.answered.wait(5)
        self.diary.lines.append(f"{self.name} ended")


@pytest.fixture
def diary():
    return Diary()


def no_pauses():
    return iter([0.0] * 1000)


def test_it_serves_after_all_that_it_needs(diary):
    daemon = Daemon(
        "d",
        checks=[diary.check("database")],
        on_start=[diary.check("load")],
        servers=[FakeServer(diary)],
    )
    assert daemon.start()
    assert daemon.serving
    assert diary.lines == ["database", "load", "server starts"]
    daemon.stop()


def test_it_stops_in_good_order(diary):
    daemon = Daemon(
        "d",
        servers=[FakeServer(diary)],
        on_stop=[diary.write("manager stops")],
        closing=[diary.closable("bus closed")],
    )
    daemon.start()
    daemon.stop()
    assert diary.lines[1:] == ["server stops", "server ended", "manager stops", "bus closed"]


def test_a_server_that_cannot_start_is_tried_again(diary):
    daemon = Daemon("d", servers=[FakeServer(diary, refusals=2)], pauses=no_pauses)
    assert daemon.start()
    daemon.stop()
    assert diary.lines[0] == "server starts"


def test_a_request_under_way_is_finished_before_anything_is_closed(diary):
    server = FakeServer(diary)
    server.answered.clear()
    daemon = Daemon("d", servers=[server], closing=[diary.closable("closed")])
    daemon.start()
    threading.Timer(0.1, server.answered.set).start()
    daemon.stop()
    assert diary.lines[-2:] == ["server ended", "closed"]


def test_a_request_that_takes_too_long_does_not_hold_up_the_stop(diary, caplog):
    server = FakeServer(diary)
    server.answered.clear()
    daemon = Daemon("d", servers=[server], closing=[diary.closable("closed")])
    daemon.start()
    daemon.stop(grace=0.05)
    assert diary.lines[-1] == "closed"
    assert "work is still running after 0.05 s" in caplog.text
    server.answered.set()


def test_periodics_run_only_while_it_serves(diary):
    called = threading.Event()
    periodic = Periodic(3600, called.set, "beat")
    daemon = Daemon("d", servers=[FakeServer(diary)], periodics=[periodic])
    assert not called.is_set()
    daemon.start()
    assert called.wait(5)
    daemon.stop()
    assert not periodic._thread.is_alive()


def test_after_a_stop_it_does_not_start(diary):
    daemon = Daemon("d", servers=[FakeServer(diary)])
    daemon.stop()
    assert not daemon.start()
    assert diary.lines == []


def test_one_part_that_cannot_be_stopped_does_not_keep_the_others(diary, caplog):
    def broken():
        raise RuntimeError("stuck")

    daemon = Daemon("d", on_stop=[broken, diary.write("next")], closing=[diary.closable("closed")])
    daemon.start()
    daemon.stop()
    assert diary.lines == ["next", "closed"]
    assert "stuck" in caplog.text


def test_work_that_was_taken_in_is_drained_while_the_servers_stop():
    asked = []
    daemon = Daemon("d", drain=[asked.append])
    daemon.start()
    daemon.stop(grace=7)
    assert asked == [7]
