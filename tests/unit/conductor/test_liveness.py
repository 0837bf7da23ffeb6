"""A lookout tells the schedulers which hosts of its cell are up: changes at once, all at times."""

import pytest

from roost import exception
from roost.conductor.cell.liveness import HostTimeouts, LivenessReporter
from roost.db.cell import services
from roost.servicegroup.db import DatabaseGroup
from tests.fakes.service_groups import FakeGroup, age

INTERVAL = 10
SILENCE, GAP = 60, 20
HOSTS = {"h1", "h2", "h3"}


class Schedulers:
    def __init__(self):
        self.away = False
        self.heard = []

    def update_liveness(self, context, *, liveness):
        if self.away:
            raise exception.Unavailable("nobody listens")
        self.heard.append(liveness)

    def told(self):
        """Return, and forget, what was told: whole or not, who is up, who is down."""
        told = [(one.whole, list(one.up), list(one.down)) for one in self.heard]
        self.heard.clear()
        return told


@pytest.fixture
def schedulers():
    return Schedulers()


class Away:
    """A database that can go away."""

    def __init__(self, database):
        self.away = False
        self.begin = database.begin
        self._read = database.read

    def read(self):
        if self.away:
            raise exception.Unavailable("the database is away")
        return self._read()


class Cell:
    """A cell of three hosts, whose conductors look at it when they are told to."""

    def __init__(self, database, schedulers):
        self.database = Away(database)
        self.schedulers = schedulers
        self.group = FakeGroup("h1", "h2", "h3")
        self.now = 1000.0
        for host in ("h1", "h2", "h3"):
            self.report(host)
        self.report("c1", binary="roost-cell-conductor")

    def report(self, host, binary="roost-compute"):
        with self.database.begin() as session:
            return services.report(session, host=host, binary=binary)

    def liveness_reporter(self, group=None):
        return LivenessReporter(
            self.database,
            group or self.group,
            self.schedulers,
            interval=INTERVAL,
            patience=HostTimeouts(silence=SILENCE, gap=GAP),
            clock=lambda: self.now,
        )

    def seasoned(self, group=None):
        """A lookout that has listened for long enough, and told all before."""
        liveness_reporter = self.liveness_reporter(group)
        self.look(liveness_reporter, times=SILENCE + 1)
        self.schedulers.told()
        return liveness_reporter

    def look(self, liveness_reporter, *, times=1):
        """Look once a second, while somebody is heard of."""
        for _ in range(times):
            liveness_reporter.look()
            self.now += 1.0

    def hush(self, seconds=GAP + 1):
        """Let nobody be heard of: the bus is away."""
        with self.database.begin() as session:
            age(session, seconds)


@pytest.fixture
def cell(cell_db, schedulers):
    return Cell(cell_db, schedulers)


def test_the_first_look_tells_of_every_host_and_of_no_other_daemon(cell, schedulers):
    cell.liveness_reporter().look()
    assert schedulers.told() == [(True, ["h1", "h2", "h3"], [])]


def test_what_changes_is_told_at_once_and_alone(cell, schedulers):
    liveness_reporter = cell.seasoned()
    cell.group.up -= {"h1", "h3"}
    liveness_reporter.look()
    cell.group.up.add("h3")
    liveness_reporter.look()
    assert schedulers.told() == [(False, [], ["h1", "h3"]), (False, ["h3"], [])]


def test_everything_is_told_again_after_the_interval(cell, schedulers):
    liveness_reporter = cell.liveness_reporter()
    liveness_reporter.look()
    cell.now += INTERVAL - 1
    liveness_reporter.look()
    cell.now += 1
    liveness_reporter.look()
    assert schedulers.told() == 2 * [(True, ["h1", "h2", "h3"], [])]


def test_a_host_that_is_forced_down_is_told_of_at_once(cell, schedulers):
    liveness_reporter = cell.liveness_reporter()
    liveness_reporter.look()
    with cell.database.begin() as session:
        (service,) = services.list_services(session, hosts=["h1"])
        services.update(session, service.uuid, forced_down=True)
    liveness_reporter.look()
    assert schedulers.told()[1:] == [(False, [], ["h1"])]


def test_what_the_schedulers_did_not_hear_is_told_with_all_the_rest(cell, schedulers, caplog):
    liveness_reporter = cell.seasoned()
    schedulers.away = True
    cell.group.up.remove("h1")
    for _ in range(3):
        liveness_reporter.look()
    schedulers.away = False
    liveness_reporter.look()
    assert schedulers.told() == [(True, ["h2", "h3"], ["h1"])]
    assert caplog.text.count("could not report to schedulers") == 1


def test_a_host_falls_silent_by_the_clock_of_the_database(cell, schedulers):
    liveness_reporter = cell.seasoned(DatabaseGroup(down_time=60))
    with cell.database.begin() as session:
        age(session, 61, host="h1")
    liveness_reporter.look()
    cell.report("h1")
    liveness_reporter.look()
    assert schedulers.told() == [(False, [], ["h1"]), (False, ["h1"], [])]


def test_a_conductor_that_has_just_started_calls_no_host_down_that_it_could_not_hear_yet(
    cell, schedulers
):
    cell.group.up.remove("h2")
    liveness_reporter = cell.liveness_reporter()
    cell.look(liveness_reporter, times=SILENCE)
    assert {(whole, *down) for whole, _, down in schedulers.told()} == {(False,)}
    assert liveness_reporter.surely_down(HOSTS) == set()
    cell.look(liveness_reporter)
    assert schedulers.told() == [(True, ["h1", "h3"], ["h2"])]
    assert liveness_reporter.surely_down(HOSTS) == {"h2"}


def test_hosts_keep_what_they_were_told_to_be_until_they_could_be_heard_again(cell, schedulers):
    cell.group.up.remove("h3")
    liveness_reporter = cell.seasoned()
    cell.hush()
    cell.group.up.clear()
    cell.look(liveness_reporter, times=100)
    cell.report("h2")
    cell.group.up.add("h2")
    cell.look(liveness_reporter, times=SILENCE)
    told = schedulers.told()
    assert {(whole, *up) for whole, up, _ in told} == {(False, "h2")}
    assert not any(down for _, _, down in told)
    cell.look(liveness_reporter)
    assert schedulers.told() == [(True, ["h2"], ["h1", "h3"])]


def test_one_conductor_that_is_heard_of_is_enough_to_hear_hosts(cell, schedulers):
    liveness_reporter = cell.seasoned()
    cell.hush()
    cell.report("c2", binary="roost-cell-conductor")
    cell.group.up.remove("h1")
    cell.look(liveness_reporter)
    assert schedulers.told() == [(False, [], ["h1"])]


def test_a_conductor_whose_database_was_away_does_not_blame_hosts_for_it(cell, schedulers):
    liveness_reporter = cell.seasoned()
    cell.database.away = True
    for _ in range(GAP + 1):
        with pytest.raises(exception.Unavailable):
            cell.look(liveness_reporter)
        cell.now += 1.0
    cell.database.away = False
    cell.group.up.clear()
    cell.look(liveness_reporter)
    assert not any(down for _, _, down in schedulers.told())


def test_short_gaps_do_no_harm_because_several_heartbeats_fit_in_what_is_left():
    patience = HostTimeouts.of(down_time=60)
    assert (patience.silence, patience.gap, patience.own_interval) == (60, 12, 4)
    assert HostTimeouts.of(down_time=5).gap == 3


def test_a_host_whose_service_was_deleted_is_down_once_it_had_the_time_to_come_back(cell):
    with cell.database.begin() as session:
        (service,) = services.list_services(session, hosts=["h1"])
        services.delete(session, service.uuid)
    liveness_reporter = cell.liveness_reporter()
    liveness_reporter.look()
    assert liveness_reporter.surely_down(HOSTS) == set()
    cell.look(liveness_reporter, times=SILENCE + 1)
    assert liveness_reporter.surely_down(HOSTS) == {"h1"}
