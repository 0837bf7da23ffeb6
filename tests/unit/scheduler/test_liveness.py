"""Hosts and cells are not blamed for a silence in which the scheduler itself was deaf."""

import pytest

from roost.db.scheduler import cells as cell_rows
from roost.db.scheduler import reports
from roost.objects import CellLiveness
from roost.scheduler.liveness import LivenessTimeouts
from roost.scheduler.table import HostTable
from roost.servicegroup.driver import ListeningTime
from tests.builders import CELL1, CELL2, a_report

SILENCE = LivenessTimeouts(host=120, cell=60)


class Scheduler:
    """A scheduler's table of two hosts in a cell each, and its clock."""

    def __init__(self, database, clock):
        self.database = database
        self.clock = clock
        self.listening = ListeningTime(gap=SILENCE.gap)
        self.table = HostTable(silence=SILENCE, hearing=self.listening, now=clock)

    def restart(self):
        self.__init__(self.database, self.clock)

    def live(self, seconds, *cells, connected=True):
        """Pass seconds, in which it connected, or not, and cells and their hosts report."""
        for _ in range(seconds):
            self.clock.pass_(1)
            self.listening.note(self.clock.now.timestamp(), connected=connected)
            for cell in cells:
                self.report(cell)
                self.tell(cell)

    def report(self, cell):
        report = a_report(f"host-{cell}", cell_uuid=cell, reported_at=self.clock.now)
        with self.database.begin() as session:
            reports.take_in(session, report, reported_at=self.clock.now)

    def tell(self, cell):
        version = int(self.clock.now.timestamp() * 1e6)
        liveness = CellLiveness.of(
            cell_uuid=cell, version=version, whole=True, up=[f"host-{cell}"], down=[]
        )
        with self.database.begin() as session:
            cell_rows.take_in(session, liveness, reported_at=self.clock.now)

    def up(self):
        with self.database.read() as session:
            self.table.forget_look()
            self.table.refresh(session, ())
        hosts = self.table.hosts
        return {hosts.name("cell", row) for row in range(len(hosts)) if hosts.up[row]}


@pytest.fixture
def scheduler(database, clock):
    scheduler = Scheduler(database, clock)
    scheduler.live(130, CELL1, CELL2)
    assert scheduler.up() == {CELL1, CELL2}
    return scheduler


def test_a_cell_that_falls_silent_while_we_listen_is_down(scheduler):
    scheduler.live(61, CELL1)
    assert scheduler.up() == {CELL1}


def test_while_we_are_deaf_everybody_stays_as_they_were(scheduler):
    scheduler.live(61, CELL1)
    scheduler.up()
    scheduler.live(1000, connected=False)
    assert scheduler.up() == {CELL1}


def test_cells_get_their_whole_time_when_we_hear_again(scheduler):
    scheduler.live(50)
    scheduler.live(1000, connected=False)
    scheduler.live(60)
    assert scheduler.up() == {CELL1, CELL2}
    scheduler.live(2, CELL2)
    assert scheduler.up() == {CELL2}


def test_hosts_get_their_whole_time_when_we_hear_again(scheduler):
    """Their cells tell of them; they themselves do not report."""
    scheduler.live(1000, connected=False)
    for _ in range(12):
        scheduler.live(10)
        scheduler.tell(CELL1)
        scheduler.tell(CELL2)
    assert scheduler.up() == {CELL1, CELL2}
    scheduler.live(2)
    assert scheduler.up() == set()


def test_a_scheduler_that_has_just_started_blames_nobody_whom_it_could_not_hear_yet(scheduler):
    scheduler.clock.pass_(1000)
    scheduler.restart()
    assert scheduler.up() == {CELL1, CELL2}
    scheduler.live(62, CELL1)
    assert scheduler.up() == {CELL1}
