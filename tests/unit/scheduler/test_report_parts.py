"""What schedulers with different plug-ins read of hosts' reports."""

import datetime

import pytest

from roost import conf
from roost.db import clock as database_clock
from roost.db.scheduler.reports import READER_KEPT
from roost.scheduler import plugins
from roost.scheduler.manager import SchedulerManager


@pytest.fixture
def make(database):
    def make(**options):
        driver = plugins.load_driver(conf.of({"scheduler": options}).scheduler)
        return SchedulerManager(database, driver=driver)

    return make


def test_what_any_scheduler_reads_is_read_and_its_own_from_the_beginning(make, context):
    plain = make(filters=["ram", "locality"])
    measuring = make(filters=["metrics"], metrics_weights=["heat"], weighers=["ram"])
    assert plain.list_read_parts(context) == ["labels"]
    for manager in (plain, measuring, measuring):
        manager.note_read_parts()
    for manager in (plain, measuring):
        assert manager.list_read_parts(context) == ["labels", "metrics.heat"]


def test_a_scheduler_that_has_ended_is_forgotten_after_some_minutes(make, context, monkeypatch):
    ended, other = make(filters=["locality"]), make(filters=["json"], weighers=["ram"])
    ended.note_read_parts()
    other.note_read_parts()
    assert other.list_read_parts(context) == ["capabilities", "labels"]
    later = datetime.datetime.now(datetime.UTC) + READER_KEPT + datetime.timedelta(seconds=10)
    monkeypatch.setattr(database_clock, "now", lambda _session: later)
    other.note_read_parts()
    assert other.list_read_parts(context) == ["capabilities"]
