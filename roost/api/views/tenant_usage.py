"""What projects have used, as JSON."""

import dataclasses
import datetime
import itertools
from collections.abc import Iterable
from typing import Any, Final

from roost.api.views.base import micros
from roost.db.cell.usage import Ran
from roost.objects.flavor import root_gb

_HOUR: Final = 3600.0  # seconds


@dataclasses.dataclass(frozen=True)
class Period:
    """The time that is asked about, and the time of asking."""

    start: datetime.datetime
    stop: datetime.datetime
    now: datetime.datetime

    def hours(self, one: Ran) -> float:
        """Return how long an instance ran within the period."""
        ended = min(one.ended or self.stop, self.stop)
        return max(0.0, (ended - max(one.began, self.start)).total_seconds() / _HOUR)


def by_project(ran: Iterable[Ran], period: Period, *, detailed: bool) -> list[dict[str, Any]]:
    """Return the usage of each project.

    :param ran: in order of projects
    :param detailed: tell the servers, too
    """
    return [
        _project(project, list(servers), period, detailed=detailed)
        for project, servers in itertools.groupby(ran, key=lambda one: one.project_id)
    ]


def _project(project: str, ran: list[Ran], period: Period, *, detailed: bool) -> dict[str, Any]:
    hours = [(one, period.hours(one)) for one in ran]
    shown: dict[str, Any] = {
        "start": micros(period.start),
        "stop": micros(period.stop),
        "tenant_id": project,
        "total_hours": sum(each for _, each in hours),
        "total_local_gb_usage": sum(_local_gb(one) * each for one, each in hours),
        "total_memory_mb_usage": sum(one.flavor.memory_mb * each for one, each in hours),
        "total_vcpus_usage": sum(one.flavor.vcpus * each for one, each in hours),
    }
    if detailed:
        shown["server_usages"] = [_server(one, period) for one in ran]
    return shown


def _server(one: Ran, period: Period) -> dict[str, Any]:
    return {
        "ended_at": micros(one.ended),
        "flavor": one.flavor.name,
        "hours": period.hours(one),
        "instance_id": one.uuid,
        "local_gb": _local_gb(one),
        "memory_mb": one.flavor.memory_mb,
        "name": one.name,
        "started_at": micros(one.began),
        "state": one.vm_state if one.ended is None else "terminated",
        "tenant_id": one.project_id,
        "uptime": int(((one.ended or period.now) - one.began).total_seconds()),
        "vcpus": one.flavor.vcpus,
    }


def _local_gb(one: Ran) -> int:
    return root_gb(one.flavor, one.image) + int(one.flavor.ephemeral_gb)
