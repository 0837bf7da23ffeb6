"""The library that others use: pages become lists, changes become reports."""

import itertools
import logging
import threading

import pytest

from roost import exception
from roost.scheduler import client
from roost.scheduler.client import Reporter, SchedulerClient
from tests.builders import a_context, a_report


class Bus:
    """Makes no clients: what is sent is looked at in the test's own scheduler."""

    def client(self, topic, version_cap=None):
        return None

    def check_replies(self):
        pass


class Scheduler(SchedulerClient):
    """Takes reports, while it is there."""

    def __init__(self):
        super().__init__(Bus())
        self.reports = []
        self.away = False

    def update_resource_stats(self, context, *, report):
        if self.away:
            raise exception.Unavailable("no bus")
        self.reports.append(report)


class Paged(SchedulerClient):
    def __init__(self, hosts, claims):
        super().__init__(Bus())
        self.hosts, self.claims = hosts, claims

    def list_hosts(self, context, *, marker=None, limit=1000):
        return [a_report(host) for host in self.hosts if host > (marker or "")][:limit]

    def list_claims(self, context, *, marker=None, limit=1000):
        return [{"instance_uuid": c} for c in self.claims if c > (marker or "")][:limit]


@pytest.fixture
def scheduler():
    return Scheduler()


@pytest.fixture
def reporter(scheduler):
    return Reporter(scheduler, report=a_report, interval=30)


def test_the_first_tick_reports(reporter, scheduler):
    assert reporter.tick(0)
    assert len(scheduler.reports) == 1


def test_nothing_new_is_reported_once_per_interval(reporter, scheduler):
    sent = [second for second in range(100) if reporter.tick(second)]
    assert [later - sooner for sooner, later in itertools.pairwise(sent[-3:])] == [30, 30]


def test_the_first_reports_come_at_growing_intervals(reporter, scheduler):
    sent = [second for second in range(31) if reporter.tick(second)]
    assert sent == [0, 1, 3, 7, 15]


def test_a_change_is_reported_at_the_next_tick(reporter):
    reporter.tick(0)
    reporter.changed()
    assert reporter.tick(10)


def test_changes_in_quick_succession_share_a_report(reporter, scheduler):
    reporter.tick(0)
    for tenth in range(1, 21):
        reporter.changed()
        reporter.tick(tenth / 10)
    assert len(scheduler.reports) == 3


def test_a_change_while_a_report_is_made_is_another_report(scheduler):
    def report():
        if not scheduler.reports:
            reporter.changed()
        return a_report()

    reporter = Reporter(scheduler, report=report, interval=30)
    reporter.tick(0)
    assert reporter.tick(1)
    assert not reporter.tick(2)


def test_one_report_at_a_time(scheduler):
    sending, may_go_on = threading.Event(), threading.Event()

    def report():
        sending.set()
        assert may_go_on.wait(10)
        return a_report()

    reporter = Reporter(scheduler, report=report, interval=30)
    first = threading.Thread(target=reporter.tick, args=(0,))
    first.start()
    assert sending.wait(10)
    assert not reporter.tick(60)
    may_go_on.set()
    first.join()
    assert len(scheduler.reports) == 1


def test_a_bus_that_is_away_is_told_once_and_tried_on(reporter, scheduler, caplog):
    caplog.set_level(logging.INFO, logger=client.__name__)
    scheduler.away = True
    assert [reporter.tick(second) for second in range(3)] == [False] * 3
    scheduler.away = False
    assert reporter.tick(3)
    assert [record.levelname for record in caplog.records] == ["WARNING", "INFO"]


def test_what_cannot_be_told_now_is_told_later(scheduler):
    def report():
        raise RuntimeError("the hypervisor does not answer")

    reporter = Reporter(scheduler, report=report, interval=30)
    for second in (0, 1):
        with pytest.raises(RuntimeError):
            reporter.tick(second)


def test_all_hosts_are_asked_for_page_by_page(monkeypatch):
    monkeypatch.setattr(client, "PAGE", 2)
    names = [f"h{i}" for i in range(5)]
    assert [host.host for host in Paged(names, []).all_hosts(a_context())] == names


def test_all_claims_are_asked_for_page_by_page(monkeypatch):
    monkeypatch.setattr(client, "PAGE", 2)
    uuids = [f"u{i}" for i in range(4)]
    found = Paged([], uuids).all_claims(a_context())
    assert [claim["instance_uuid"] for claim in found] == uuids
