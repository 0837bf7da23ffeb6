"""Aggregates: hosts that operators put together, and what is said of them all."""

import functools
import logging
import re
from collections.abc import Callable
from typing import Any, Final

from roost import exception
from roost.api import policies
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.views import aggregates as views
from roost.api.zones import HoldServers, Zones
from roost.db.api import aggregates as rows
from roost.db.engine import Session, retried
from roost.objects import Aggregate

LOG = logging.getLogger(__name__)
_IDENTITY: Final = re.compile("-?[0-9]{1,18}", re.ASCII)
Alter = Callable[[Session], rows.Change]


class Aggregates:
    """Handlers of ``/os-aggregates``.

    Each change is committed first; then the schedulers are told, who would learn it anyway.
    """

    def __init__(self, parts: Parts) -> None:
        self._database = parts.api_database
        self._cells = parts.cells
        self._scheduler = parts.scheduler
        self._zones = Zones(parts)

    def list_all(self, call: Call) -> Answer:
        with self._database.read() as session:
            found = rows.list_all(session)
        shown = [views.full(aggregate, version=call.version) for aggregate in found]
        return Answer({"aggregates": shown})

    def show(self, call: Call) -> Answer:
        with self._database.read() as session:
            return _shown(rows.get(session, _identity(call)), call)

    def create(self, call: Call) -> Answer:
        made = self._create(call.body["aggregate"])
        self._tell(call, made)
        return Answer({"aggregate": views.created(made, version=call.version)})

    def update(self, call: Call) -> Answer:
        """Rename it, or make it another zone; what has no zone any more loses the key."""
        identity, asked = _identity(call), call.body["aggregate"]
        alter = functools.partial(
            rows.update,
            aggregate_id=identity,
            name=asked["name"].strip() if "name" in asked else None,
            metadata=_zone_of(asked),
        )
        return self._change(call, alter, doing="update", refusal=exception.Invalid)

    def delete(self, call: Call) -> Answer:
        identity = _identity(call)
        try:
            gone = self._delete(identity)
        except exception.Conflict as error:
            raise exception.Invalid(_cannot("delete", identity, error)) from error
        self._tell(call, gone)
        return Answer()

    def act(self, call: Call) -> Answer:
        """Do the one thing that the body names, if the caller may."""
        ((name, asked),) = call.body.items()
        call.require(policies.aggregates.ACTIONS[name])
        actions: dict[str, Callable[[Call, int, Any], Answer]] = {
            "add_host": self._add_host,
            "remove_host": self._remove_host,
            "set_metadata": self._set_metadata,
        }
        return actions[name](call, _identity(call), asked)

    def _add_host(self, call: Call, identity: int, asked: Any) -> Answer:
        host = asked["host"]
        try:
            self._cells.search(host)
        except exception.NotFound as error:
            raise exception.NotFound(f"Compute host {host} could not be found.") from error
        alter = functools.partial(rows.add_host, aggregate_id=identity, host=host)
        return self._change(call, alter, doing="add host to", refusal=exception.Conflict)

    def _remove_host(self, call: Call, identity: int, asked: Any) -> Answer:
        alter = functools.partial(rows.remove_host, aggregate_id=identity, host=asked["host"])
        return self._change(call, alter, doing="remove host from", refusal=exception.Conflict)

    def _set_metadata(self, call: Call, identity: int, asked: Any) -> Answer:
        alter = functools.partial(rows.update, aggregate_id=identity, metadata=asked["metadata"])
        return self._change(call, alter, doing="update metadata of", refusal=exception.Invalid)

    def _change(
        self, call: Call, alter: Alter, *, doing: str, refusal: type[exception.RoostError]
    ) -> Answer:
        """Change an aggregate and tell of it.

        :param refusal: what is raised when the change would break the rules of zones
        """
        try:
            changed = self._commit(alter)
        except (rows.InTwoZones, HoldServers) as error:
            raise refusal(_cannot(doing, _identity(call), error)) from error
        self._tell(call, changed)
        return _shown(changed, call)

    @retried
    def _commit(self, alter: Alter) -> Aggregate:
        with self._database.begin() as session:
            change = alter(session)
            self._zones.check_moves(session, change)
        return change.aggregate

    @retried
    def _create(self, asked: dict[str, Any]) -> Aggregate:
        metadata = {key: zone for key, zone in _zone_of(asked).items() if zone is not None}
        with self._database.begin() as session:
            return rows.create(session, asked["name"].strip(), metadata=metadata)

    @retried
    def _delete(self, identity: int) -> Aggregate:
        with self._database.begin() as session:
            return rows.delete(session, identity)

    def _tell(self, call: Call, changed: Aggregate) -> None:
        try:
            self._scheduler.update_aggregates(call.context, aggregates=[changed])
        except exception.RoostError as error:
            LOG.warning(
                "the schedulers do not know yet that aggregate %s is changed: %s",
                changed.uuid,
                error,
            )


def _identity(call: Call) -> int:
    """Return the id that the path names.

    :raises roost.exception.Invalid: when it is no number
    """
    text = call.params["aggregate_id"]
    if not _IDENTITY.fullmatch(text):
        raise exception.Invalid("Invalid input received: aggregate_id must be an integer")
    return int(text)


def _zone_of(asked: dict[str, Any]) -> dict[str, str | None]:
    """Return the metadata that makes an aggregate the zone that a body names, if it does."""
    if rows.ZONE not in asked:
        return {}
    zone = asked[rows.ZONE]
    return {rows.ZONE: zone and zone.strip()}


def _cannot(doing: str, identity: int, why: exception.RoostError) -> str:
    return f"Cannot {doing} aggregate {identity}. Reason: {why.message}."


def _shown(aggregate: Aggregate, call: Call) -> Answer:
    return Answer({"aggregate": views.full(aggregate, version=call.version)})
