"""One trace, one inventory, and as many ways to place as one likes to compare."""

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
    """How one way to place did: in a few figures, and at ``points`` moments."""

    summary: Summary
    series: Sequence[dict[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Study:
    """What is the same for all that are compared.

    ``reference`` is the VM that decides what is stranded, by size; ``policy`` that of the server
    groups (None: groups do not matter); with the same ``seed`` chance falls the same way.
    """

    trace: Trace
    kinds: Sequence[HostKind]
    window: Window
    reference: Ints
    policy: str | None = None
    seed: int = 1
    points: int = POINTS

    def outline(self) -> Outline:
        """Return what holds whoever places."""
        hosts = inventory.hosts_of(self.kinds)
        return report.outline_of(self.trace, hosts, window=self.window, reference=self.reference)

    def run(
        self, driver: Driver, *, tell: Callable[[int], None] = lambda _requests: None
    ) -> StudyRun:
        """Replay the trace on empty hosts.

        :param tell: told now and then how many more requests were decided
        """
        hosts = inventory.hosts_of(self.kinds)
        driver.engine.reseed(self.seed)
        done = replay(self.trace, hosts, driver, policy=self.policy, tell=tell)
        found = course.course_of(done, hosts, reference=self.reference)
        times = report.moments(self.window, self.points)
        return StudyRun(
            report.summary_of(found, done, self.trace, hosts=hosts, window=self.window),
            report.series_of(found, done, self.trace, hosts=hosts, times=times),
        )
