"""The log of usage audits. Hosts here run none: each is shown as not run."""

import datetime
from typing import Any, Final

from roost import exception
from roost.api.dependencies import Dependencies
from roost.api.policy import ADMIN, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.db.api import cells

_ROOT = "os_compute_api:os-instance-usage-audit-log"


_FORMS: Final = ("%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f")


class UsageAuditLog:
    """Handlers of ``/os-instance_usage_audit_log``, over whole months."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._database = dependencies.api_database
        self._now = dependencies.now

    def show_last(self, _call: Call) -> Answer:
        """Show the last complete month."""
        return Answer({"instance_usage_audit_logs": self._log(self._now())})

    def show_before(self, call: Call) -> Answer:
        """Show the last complete month before a time."""
        said = call.params["before"]
        try:
            log = self._log(_time(said))
        except ValueError as error:
            raise exception.Invalid(f"Invalid timestamp for date {said}") from error
        return Answer({"instance_usage_audit_log": log})

    def _log(self, before: datetime.datetime) -> dict[str, Any]:
        ending = _month(before - datetime.timedelta(microseconds=1))
        beginning = _month(ending - datetime.timedelta(days=1))
        hosts = [mapping.host for mapping in self._database.query(cells.list_hosts)]
        done = f"0 of {len(hosts)}" if hosts else "ALL"
        return {
            "hosts_not_run": hosts,
            "log": {},
            "num_hosts": len(hosts),
            "num_hosts_done": 0,
            "num_hosts_not_run": len(hosts),
            "num_hosts_running": 0,
            "overall_status": f"{done} hosts done. 0 errors.",
            "period_beginning": f"{beginning:%Y-%m-%d} 00:00:00",
            "period_ending": f"{ending:%Y-%m-%d} 00:00:00",
            "total_errors": 0,
            "total_instances": 0,
        }


def _time(said: str) -> datetime.datetime:
    """Read a time of the path.

    :raises ValueError: when it is not a time, or there is no month before it
    """
    form = _FORMS["." in said]
    read = datetime.datetime.strptime(said, form).replace(tzinfo=datetime.UTC)
    if read.year == datetime.MINYEAR:
        raise ValueError(said)
    return read


def _month(time: datetime.datetime) -> datetime.datetime:
    """Return the beginning of a month."""
    return time.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


_LOG: Final = "/v2.1/os-instance_usage_audit_log"

ROUTES: Final[tuple[Route, ...]] = (
    row(
        f"GET {_LOG}",
        (UsageAuditLog, UsageAuditLog.show_last),
        Rule(f"{_ROOT}:list", ADMIN, "Show the usage audits of the last month.", formerly=_ROOT),
    ),
    row(
        f"GET {_LOG}/{{before}}",
        (UsageAuditLog, UsageAuditLog.show_before),
        Rule(
            f"{_ROOT}:show",
            ADMIN,
            "Show the usage audits of the month before a time.",
            formerly=_ROOT,
        ),
    ),
)
