"""The library that others use: pages become lists, changes become reports."""

import itertools
import logging
import subprocess
import sys

import oslo_messaging as messaging
import pytest

from roost import conf, exception
from roost.scheduler import client
from roost.scheduler.client import ChangeListener, Reporter, SchedulerClient
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

    def list_claims(self, context, *, marker=None, limit=1000, host=None, project_id=None):
        after = [claim for claim in self.claims if claim["instance_uuid"] > (marker or "")]
        return [claim for claim in after if host in (None, claim["host"])][:limit]


@pytest.fixture
def scheduler():
    return Scheduler()


@pytest.fixture
def reporter(scheduler):
    return Reporter(scheduler, report=a_report, interval=30)


def test_nothing_new_is_reported_once_per_interval(reporter, scheduler):
    sent = [second for second in range(100) if reporter.tick(second)]
    assert [later - sooner for sooner, later in itertools.pairwise(sent[-3:])] == [30, 30]


def test_the_first_reports_come_at_growing_intervals(reporter, scheduler):
    sent = [second for second in range(31) if reporter.tick(second)]
    assert sent == [0, 1, 3, 7, 15]


def test_a_report_that_would_be_refused_is_logged_once_and_tried_again(scheduler, caplog):
    answers = [exception.Invalid("vcpus is wrong")] * 2

    def report():
        if answers:
            raise answers.pop()
        return a_report()

    reporter = Reporter(scheduler, report=report, interval=30)
    with caplog.at_level("INFO"):
        assert [reporter.tick(second) for second in range(3)] == [False, False, True]
    assert caplog.messages == [
        "cannot report this host, will retry: vcpus is wrong",
        "this host is reported again",
    ]


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
    claims = [{"instance_uuid": f"u{i}", "host": f"h{i % 2}"} for i in range(6)]
    paged = Paged([], claims)
    assert list(paged.all_claims(a_context())) == claims
    assert list(paged.all_claims(a_context(), host="h1")) == claims[1::2]


class Silent:
    """A bus on which nobody answers; ``waited`` says how long each call would have waited."""

    def __init__(self, error):
        self.error = error
        self.waited = []

    def client(self, topic, version_cap=None):
        return self

    def check_replies(self):
        pass

    def prepare(self, *, server, version, timeout, call_monitor_timeout=None):
        self.waited.append(timeout)
        return self

    def call(self, context, method, **arguments):
        raise self.error


@pytest.mark.parametrize(
    "error", [messaging.MessagingTimeout(), messaging.MessageUndeliverable(None, None, None, None)]
)
def test_a_scheduler_that_is_not_there_is_noticed_soon(error):
    bus = Silent(error)
    with pytest.raises(exception.Unavailable, match="start roost-scheduler"):
        SchedulerClient(bus).check(a_context())
    assert bus.waited == [client.PROBE_SECONDS]


LIBRARY = (
    "roost.rpc",
    "roost.objects",
    "roost.callers",
    "roost.clock",
    "roost.context",
    "roost.exception",
    "roost.scheduler.client",
)


def test_the_library_needs_nothing_but_messages_and_objects():
    script = (
        "import sys, roost.scheduler.client;"
        "print(*(name for name in sys.modules if name.split('.')[0] in"
        " ('roost', 'numpy', 'scipy', 'sqlalchemy', 'oslo_db', 'alembic')))"
    )
    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stdout.split()
    extra = [
        name
        for name in loaded
        if name not in ("roost", "roost.scheduler")
        and not any(name == known or name.startswith(f"{known}.") for known in LIBRARY)
    ]
    assert "roost.rpc.scheduler" in loaded
    assert extra == []


def test_a_listener_without_a_pool_of_its_own_would_share_and_is_refused():
    with pytest.raises(exception.Invalid, match="receives only a part of the changes"):
        ChangeListener(conf.of({}), "fake://", topic="hosts", pool="", receive=print)
