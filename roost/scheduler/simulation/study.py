"""Compares drivers on one trace and one inventory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from roost.scheduler.columns import Ints
from roost.scheduler.drivers import Driver
from roost.scheduler.simulation import course, inventory, report
from roost.scheduler.simulation.course import Window
from roost.scheduler.simulation.inventory import HostKind
from roost.scheduler.simulation.replay import replay
from roost.scheduler.simulation.report import Outline, Summary
from roost.scheduler.simulation.trace import Trace

POINTS: Final = 500


@dataclass(frozen=True)
class StudyRun:
    """The results of one driver: a summary, and a time series of ``points`` rows."""

    summary: Summary
    series: Sequence[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Study:
    """The parameters that all compared drivers share.

    ``reference`` is the VM that defines what is stranded, by size; ``policy`` that of the server
    groups (None: groups are ignored); the same ``seed`` gives the same random choices.
    """

    trace: Trace
    kinds: Sequence[HostKind]
    window: Window
    reference: Ints
    policy: str | None = None
    seed: int = 1
    points: int = POINTS

    def outline(self) -> Outline:
        """Return the values independent of the driver."""
        hosts = inventory.hosts_of(self.kinds)
        return report.outline_of(self.trace, hosts, window=self.window, reference=self.reference)

    def run(
        self, driver: Driver, *, progress: Callable[[int], None] = lambda _requests: None
    ) -> StudyRun:
        """Replay the trace on empty hosts.

        :param progress: called now and then with the number of further requests decided
        """
        hosts = inventory.hosts_of(self.kinds)
        driver.engine.reseed(self.seed)
        done = replay(self.trace, hosts, driver, policy=self.policy, progress=progress)
        found = course.course_of(done, hosts, reference=self.reference)
        times = report.moments(self.window, self.points)
        return StudyRun(
            report.summary_of(found, done, self.trace, hosts=hosts, window=self.window),
            report.series_of(found, done, self.trace, hosts=hosts, times=times),
        )
