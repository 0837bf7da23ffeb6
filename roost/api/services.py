"""The daemons of all cells."""

import logging
from collections.abc import Mapping
from typing import Any, Final

from roost import exception
from roost.api.call import Answer, Call, truth
from roost.api.gather import Gatherer
from roost.api.parts import Parts
from roost.api.validation import is_uuid
from roost.api.views import services as views
from roost.cells import Cell
from roost.db.cell import services as rows
from roost.objects import Service

LOG = logging.getLogger(__name__)
_FORCED_DOWN_SINCE: Final = 11


class Services:
    """Handlers of ``/os-services``."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        self._gatherer = Gatherer(
            parts.executor, timeout=parts.options.cell_timeout, pause=parts.options.cell_pause
        )

    def list_all(self, call: Call) -> Answer:
        host, binary = call.query.one("host") or None, call.query.one("binary") or None
        found = self._find(host=host, binary=binary)
        return Answer({"services": [self._view(service, call) for _, service in found]})

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
        cell, service = self._by_uuid(call.params["service_id"])
        return Answer({"service": self._view(self._change(call, cell, service, changes), call)})

    def update_legacy(self, call: Call) -> Answer:
        """Do what the path says to the daemon that the body names (before 2.53)."""
        host, binary = call.body["host"], call.body["binary"]
        todo = call.params["service_id"]
        changes = _legacy_changes(todo, call.body, call.version)
        found = self._find(host=host, binary=binary)
        if not found:
            raise exception.NotFound(f"Could not find binary {binary} on host {host}.")
        changed = self._change(call, *found[0], changes)
        return Answer({"service": _legacy_view(todo, changed)})

    def _find(self, *, host: str | None, binary: str | None) -> list[tuple[Cell, Service]]:
        def of_cell(cell: Cell) -> list[Service]:
            with cell.database.read() as session:
                return rows.list_services(session, host=host, binary=binary)

        cells = [cell for cell in self._parts.cells.all() if not cell.is_cell0]
        answers = self._gatherer.from_each(cells, of_cell)
        return [(cell, service) for cell, services in answers for service in services]

    def _by_uuid(self, uuid: str) -> tuple[Cell, Service]:
        if not is_uuid(uuid):
            raise exception.Invalid(f"Invalid uuid {uuid}")
        for cell, service in self._find(host=None, binary=None):
            if service.uuid == uuid:
                return cell, service
        raise exception.NotFound(f"Service {uuid} could not be found.")

    def _change(
        self, call: Call, cell: Cell, service: Service, changes: Mapping[str, Any]
    ) -> Service:
        """Write the row, then tell the host and the schedulers: they would learn it anyway."""
        if "disabled" in changes and service.binary != views.COMPUTE:
            raise exception.Invalid(
                f"Only {views.COMPUTE} can be enabled or disabled, not {service.binary}."
            )
        with cell.database.begin() as session:
            changed = rows.update(session, service.uuid, **changes)
        if "disabled" in changes:
            self._tell(call, cell, service.host, enabled=not changes["disabled"])
        return changed

    def _tell(self, call: Call, cell: Cell, host: str, *, enabled: bool) -> None:
        try:
            self._parts.scheduler.set_host_enabled(call.context, host=host, enabled=enabled)
        except exception.RoostError as error:
            LOG.warning("the scheduler does not know yet that %s is changed: %s", host, error)
        try:
            cell.compute.on(host).set_enabled(call.context, enabled=enabled)
        except exception.RoostError as error:
            LOG.warning("the host %s does not know yet that it is changed: %s", host, error)

    def _view(self, service: Service, call: Call) -> dict[str, Any]:
        return views.full(
            service,
            version=call.version,
            now=self._parts.now(),
            down_time=self._parts.options.service_down_time,
        )


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
