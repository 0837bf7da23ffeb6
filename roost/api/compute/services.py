"""Services: the daemons of all cells, whether they are up, enabled or forced down."""

import dataclasses
import logging
import re
import uuid as uuids
from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost import exception
from roost.api.compute import service_views as views
from roost.api.compute.availability_zones import Zones
from roost.api.dependencies import Dependencies
from roost.api.gather import Gatherer
from roost.api.policy import ADMIN, Rule
from roost.api.request import Answer, Call, truth
from roost.api.route import Route, row
from roost.api.servers import views as servers_views
from roost.api.validation import BOOLEAN, TEXT, Schema, always, is_uuid, list_query, of
from roost.cells import Cell, cell
from roost.db.api import cells as cell_rows
from roost.db.cell import services as rows
from roost.db.engine import Database, retried
from roost.objects import Service

_ROOT = "os_compute_api:os-services"


_NAME = {**TEXT, "minLength": 1}
_REASON = {**TEXT, "minLength": 1}
_LEGACY: dict[str, Any] = {
    "host": _NAME,
    "binary": _NAME,
    "disabled_reason": _REASON,
}

LIST_QUERY: Final = list_query({"host": TEXT, "binary": TEXT})
UPDATE: Final = always(
    {
        **of(
            {
                "status": {"type": "string", "enum": ["enabled", "disabled"]},
                "disabled_reason": _REASON,
                "forced_down": BOOLEAN,
            }
        ),
        "minProperties": 1,
    }
)
# Before 2.53 the path names the change, and the body the daemon.
LEGACY_UPDATE: Final = Schema(
    {
        1: of(_LEGACY, required=["host", "binary"]),
        11: of({**_LEGACY, "forced_down": BOOLEAN}, required=["host", "binary"]),
    }
)


@dataclasses.dataclass(frozen=True)
class ServiceState:
    """A daemon, its cell, and whether it is up."""

    cell: Cell
    service: Service
    up: bool


@dataclasses.dataclass(frozen=True)
class FoundServices:
    """The daemons of the available cells, and the unavailable cells."""

    seen: Sequence[ServiceState]
    unavailable: Sequence[Cell]

    def raise_if_unavailable(self) -> None:
        """Raise :class:`roost.exception.Unavailable` if a cell could not be searched."""
        if self.unavailable:
            raise exception.Unavailable("not all cells report their daemons")


class ServiceReader:
    """Reads the daemons from the cells, and their liveness from the service group."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._cells = dependencies.cells
        self._dependencies = dependencies
        self._gatherer = Gatherer(dependencies.executor, timeout=dependencies.options.cell_timeout)

    def find(
        self, *, host: str | None = None, binary: str | None = None, uuid: str | None = None
    ) -> FoundServices:
        """Return daemons, cell by cell, in order of their first report.

        :param host: only the daemons on this host
        :param binary: only the daemons of this name
        :param uuid: only the daemon of this uuid
        """
        hosts = None if host is None else [host]

        def of_cell(cell: Cell) -> list[ServiceState]:
            roll = cell.database.query(rows.call_roll, hosts=hosts, binary=binary, uuid=uuid)
            return self.see(cell, roll)

        cells = [cell for cell in self._cells.all() if not cell.is_cell0]
        found = self._gatherer.from_each(cells, of_cell)
        return FoundServices([one for _, some in found.answers for one in some], found.unavailable)

    def see(self, cell: Cell, roll: rows.RollCall) -> list[ServiceState]:
        """Return the daemons of a roll call with their liveness."""
        group = self._dependencies.service_group
        up = group.find_up(roll.services, cell_uuid=cell.uuid, now=roll.now)
        return [ServiceState(cell, service, service.uuid in up) for service in roll.services]


LOG = logging.getLogger(__name__)
_FORCED_DOWN_SINCE: Final = 11
_NUMBER: Final = re.compile("[0-9]{1,10}", re.ASCII)


class Services:
    """Handlers of ``/os-services``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._zones = Zones(dependencies)
        self._daemons = ServiceReader(dependencies)
        self._names = dependencies.options.daemon_names

    def list_all(self, call: Call) -> Answer:
        host, asked = call.query.one("host") or None, call.query.one("binary") or None
        binary = asked and views.own_name(asked)
        found = self._daemons.find(host=host, binary=binary)
        shown = self._views(found.seen, call)
        if call.version >= servers_views.SINCE and binary in (None, views.COMPUTE):
            hosts = self._hosts_of(found.unavailable, host)
            shown += [servers_views.service(one, self._name(views.COMPUTE)) for one in hosts]
        if host in (None, views.SCHEDULERS) and binary in (None, views.SCHEDULER):
            shown.append(self._schedulers(call))
        return Answer({"services": [_as_asked(one, asked) for one in shown]})

    def update(self, call: Call) -> Answer:
        """Change the daemon that the path names by its uuid (since 2.53)."""
        asked = call.body
        status = asked.get("status")
        if "disabled_reason" in asked and status != "disabled":
            raise exception.Invalid(
                "Specifying disabled_reason requires that status is 'disabled'."
            )
        changes = _status(status, asked.get("disabled_reason")) if status else {}
        if "forced_down" in asked:
            changes["forced_down"] = truth(str(asked["forced_down"]), name="forced_down")
        found = self._by_uuid(call.params["service_id"])
        if found.service.binary != views.COMPUTE:
            raise exception.Invalid(
                f"Updating a {self._name(found.service.binary)} service is not supported. Only"
                f" {self._name(views.COMPUTE)} services can be updated."
            )
        (shown,) = self._views([self._change(call, found, changes)], call)
        return Answer({"service": shown})

    def update_legacy(self, call: Call) -> Answer:
        """Apply the change that the path names to the daemon that the body names (before 2.53)."""
        host, binary = call.body["host"], call.body["binary"]
        todo = call.params["service_id"]
        changes = _legacy_changes(todo, call.body, call.version)
        found = self._daemons.find(host=host, binary=views.own_name(binary))
        if not found.seen:
            found.raise_if_unavailable()
            raise exception.NotFound(f"Could not find binary {binary} on host {host}.")
        changed = self._change(call, found.seen[0], changes)
        return Answer({"service": _as_asked(_legacy_view(todo, changed.service), binary)})

    def delete(self, call: Call) -> Answer:
        """Delete a daemon; with a compute its host, which must have no servers.

        A compute that still runs reports again, and so reappears.

        :raises roost.exception.Conflict: when its host has servers, or holds claims
        """
        asked = call.params["service_id"]
        seen = self._by_uuid(asked) if call.version >= views.UUIDS else self._by_number(asked)
        if seen.service.binary == views.COMPUTE:
            self._forget_host(call, seen)
        cell.forget_services(seen.cell, seen.service.host, binary=seen.service.binary)
        return Answer()

    def _forget_host(self, call: Call, seen: ServiceState) -> None:
        """Delete a host everywhere but in its cell, so that a failed delete can be repeated."""
        host = seen.service.host
        cell.refuse_while_in_use(seen.cell.database, host)
        self._dependencies.scheduler.remove_host(call.context, host=host)
        left, _ = cell.leave_api_level(self._dependencies.api_database, host)
        if not left:
            return
        try:
            self._dependencies.scheduler.update_aggregates(call.context, aggregates=left)
        except exception.RoostError as error:
            LOG.warning("the schedulers were not notified that %s left aggregates: %s", host, error)

    def _schedulers(self, call: Call) -> dict[str, Any]:
        """Return the schedulers, which count as up while one of them answers."""
        try:
            self._dependencies.scheduler.check(call.context)
            up = True
        except exception.RoostError as error:
            LOG.warning("no scheduler answers: %s", error)
            up = False
        return views.schedulers(
            self._dependencies.now(), up=up, version=call.version, names=self._names
        )

    def _hosts_of(self, cells: Sequence[Cell], host: str | None) -> list[str]:
        """Return the hosts of unavailable cells, from the host mappings."""
        if not cells:
            return []
        unavailable = {cell.uuid for cell in cells}
        mapped = [
            one
            for one in self._dependencies.api_database.query(cell_rows.list_hosts)
            if one.cell_uuid in unavailable
        ]
        return [one.host for one in mapped if host in (None, one.host)]

    def _by_number(self, number: str) -> ServiceState:
        if not _NUMBER.fullmatch(number):
            raise exception.Invalid("Invalid input received: service_id must be an integer")
        if int(number) == views.small(views.SCHEDULERS_UUID):
            raise _unchangeable()
        found = self._daemons.find()
        same = [seen for seen in found.seen if views.number(seen.service) == int(number)]
        if len(same) > 1:
            raise exception.Invalid(f"Service id {number} refers to multiple services.")
        if not same:
            found.raise_if_unavailable()
            raise exception.NotFound(f"Service {number} could not be found.")
        return same[0]

    def _by_uuid(self, uuid: str) -> ServiceState:
        if not is_uuid(uuid):
            raise exception.Invalid(f"Invalid uuid {uuid}")
        if str(uuids.UUID(uuid)) == views.SCHEDULERS_UUID:
            raise _unchangeable()
        found = self._daemons.find(uuid=str(uuids.UUID(uuid)))
        if not found.seen:
            found.raise_if_unavailable()
            raise exception.NotFound(f"Service {uuid} could not be found.")
        return found.seen[0]

    def _change(self, call: Call, seen: ServiceState, changes: Mapping[str, Any]) -> ServiceState:
        """Write the row, then notify the schedulers; the host receives it with its next heartbeat.

        Its reports until then have an older version and are ignored. The cell-conductors notify the
        schedulers that a daemon was forced down.
        """
        cell, service = seen.cell, seen.service
        if "disabled" in changes and service.binary != views.COMPUTE:
            raise exception.Invalid(
                f"Only {self._name(views.COMPUTE)} can be enabled or disabled, not"
                f" {self._name(service.binary)}."
            )
        roll = _write(cell.database, service, changes)
        (changed,) = self._daemons.see(cell, roll)
        if "disabled" in changes:
            self._notify_schedulers(call, changed.service)
        return changed

    def _notify_schedulers(self, call: Call, service: Service) -> None:
        host, enabled = service.host, not service.disabled
        try:
            self._dependencies.scheduler.set_host_enabled(
                call.context, host=host, enabled=enabled, version=service.disabled_version
            )
        except exception.RoostError as error:
            LOG.warning("the schedulers were not notified that %s has changed: %s", host, error)

    def _views(self, found: Sequence[ServiceState], call: Call) -> list[dict[str, Any]]:
        zones = self._zones.by_host()
        return [
            views.full(
                seen.service, version=call.version, zones=zones, up=seen.up, names=self._names
            )
            for seen in found
        ]

    def _name(self, binary: str) -> str:
        return self._names.get(binary, binary)


@retried
def _write(database: Database, service: Service, changes: Mapping[str, Any]) -> rows.RollCall:
    with database.begin() as session:
        rows.update(session, service.uuid, **changes)
        return rows.call_roll(session, hosts=[service.host], binary=service.binary)


def _unchangeable() -> exception.Invalid:
    return exception.Invalid("Schedulers are neither disabled, nor forced down, nor deleted.")


def _as_asked(shown: dict[str, Any], binary: str | None) -> dict[str, Any]:
    """Name a daemon as the request did: clients search the answer for that name."""
    return shown | {"binary": binary} if binary else shown


def _status(status: str, reason: str | None) -> dict[str, Any]:
    return {"disabled": status == "disabled", "disabled_reason": reason}


def _legacy_changes(todo: str, body: Mapping[str, Any], version: int) -> dict[str, Any]:
    if todo == "enable":
        return _status("enabled", None)
    if todo == "disable":
        return _status("disabled", None)
    if todo == "disable-log-reason":
        if "disabled_reason" not in body:
            raise exception.Invalid("Missing disabled reason field")
        return _status("disabled", body["disabled_reason"])
    if todo == "force-down" and version >= _FORCED_DOWN_SINCE:
        if "forced_down" not in body:
            raise exception.Invalid("Missing forced_down field")
        return {"forced_down": truth(str(body["forced_down"]), name="forced_down")}
    raise exception.NotFound("Unknown action")


def _legacy_view(todo: str, service: Service) -> dict[str, Any]:
    shown: dict[str, Any] = {"host": service.host, "binary": service.binary}
    if todo == "force-down":
        return {**shown, "forced_down": service.forced_down}
    shown["status"] = "disabled" if service.disabled else "enabled"
    if todo == "disable-log-reason":
        shown["disabled_reason"] = service.disabled_reason
    return shown


UPDATE_POLICY = Rule(
    f"{_ROOT}:update",
    ADMIN,
    "Enable or disable a daemon, or force it down.",
    formerly=_ROOT,
    also=(
        "PUT /os-services/enable",
        "PUT /os-services/disable",
        "PUT /os-services/disable-log-reason",
        "PUT /os-services/force-down",
    ),
)

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/os-services",
        (Services, Services.list_all),
        Rule(f"{_ROOT}:list", ADMIN, "List the daemons of all cells.", formerly=_ROOT),
        query=LIST_QUERY,
    ),
    row(
        "PUT /v2.1/os-services/{service_id}",
        (Services, Services.update_legacy),
        UPDATE_POLICY,
        body=LEGACY_UPDATE,
        until=52,
    ),
    row(
        "PUT /v2.1/os-services/{service_id}",
        (Services, Services.update),
        UPDATE_POLICY,
        body=UPDATE,
        since=53,
    ),
    row(
        "DELETE /v2.1/os-services/{service_id}",
        (Services, Services.delete),
        Rule(f"{_ROOT}:delete", ADMIN, "Delete a daemon that is no longer in use.", formerly=_ROOT),
        status=204,
    ),
)
