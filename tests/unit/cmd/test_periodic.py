import logging
import threading

from roost import exception
from roost.cmd._daemon import Periodic


class Work:
    """Counts its calls; ``done`` is set after ``enough`` of them."""

    def __init__(self, enough, error=None):
        self.calls = 0
        self.enough = enough
        self.error = error
        self.done = threading.Event()

    def __call__(self):
        self.calls += 1
        if self.calls >= self.enough:
            self.done.set()
        if self.error:
            raise self.error


def run(work, seconds=0.001):
    periodic = Periodic(seconds, work, "work")
    periodic.start()
    assert work.done.wait(5)
    periodic.stop()
    periodic.wait()


def test_it_goes_on_after_an_exception_and_logs_it(caplog):
    run(Work(enough=2, error=ValueError("broken")))
    assert "work failed" in caplog.text
    assert "ValueError: broken" in caplog.text


def test_what_is_away_is_a_line_without_a_traceback(caplog):
    run(Work(enough=2, error=exception.Unavailable("the bus is away")))
    assert "work: the bus is away; again in 0.001 s" in caplog.text
    assert all(record.levelno == logging.WARNING for record in caplog.records)


def test_its_interval_may_change_under_way():
    work = Work(enough=2)
    intervals = iter([0.001])
    run(work, seconds=lambda: next(intervals, 3600))
    assert work.calls == 2


def test_a_call_under_way_is_waited_for():
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()

    def work():
        begun.set()
        may_end.wait(5)
        ended.set()

    periodic = Periodic(3600, work, "work")
    periodic.start()
    assert begun.wait(5)
    periodic.stop()
    threading.Timer(0.05, may_end.set).start()
    periodic.wait()
    assert ended.is_set()
