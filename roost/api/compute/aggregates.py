"""Host aggregates: hosts that operators group, with the metadata of each group.

The metadata key ``availability_zone`` makes an aggregate a zone. A change is committed before the
schedulers are notified; without the notification they would receive it with the next snapshot.
"""

import functools
import logging
import re
from collections.abc import Callable
from typing import Any, Final

from roost import exception
from roost.api.compute.availability_zones import HoldServers, Zones
from roost.api.dependencies import Dependencies
from roost.api.pagination import micros
from roost.api.policy import ADMIN, Rule, any_of
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.validation import NAME, TEXT, always, of, wrapped
from roost.db.api import aggregates as rows
from roost.db.api.aggregates import ZONE
from roost.db.engine import Session, retried
from roost.objects import Aggregate
from roost.objects.aggregate_resources import complaint

_ROOT = "os_compute_api:os-aggregates"
ACTIONS_POLICY: Final = {
    "add_host": Rule(f"{_ROOT}:add_host", ADMIN, "Add a host to an aggregate."),
    "remove_host": Rule(f"{_ROOT}:remove_host", ADMIN, "Take a host out of an aggregate."),
    "set_metadata": Rule(f"{_ROOT}:set_metadata", ADMIN, "Change an aggregate's metadata."),
}


# A name without colons, which separate zone, host and node in the create of a server.
_ZONE: dict[str, Any] = {
    **NAME,
    "type": ["string", "null"],
    "pattern": r"^(?!\s)[^\x00-\x1f\x7f:]+(?<!\s)$",
}
_ASKED: dict[str, Any] = {"name": NAME, "availability_zone": _ZONE}
_HOST = of({"host": {**TEXT, "minLength": 1, "pattern": r"^[a-zA-Z0-9._-]+$"}}, required=["host"])
_METADATA = {
    "type": "object",
    "properties": {"availability_zone": _ZONE},
    "patternProperties": {
        r"^[a-zA-Z0-9\-_:. ]{1,255}$": {"type": ["string", "null"], "maxLength": 255}
    },
    "additionalProperties": False,
    "maxProperties": 128,
}

CREATE: Final = always(wrapped("aggregate", of(_ASKED, required=["name"])))
UPDATE: Final = always(wrapped("aggregate", {**of(_ASKED), "minProperties": 1}))
ACTION: Final = always(
    {
        **of(
            {
                "add_host": _HOST,
                "remove_host": _HOST,
                "set_metadata": of({"metadata": _METADATA}, required=["metadata"]),
            }
        ),
        "minProperties": 1,
        "maxProperties": 1,
    }
)


UUIDS: Final = 41


def full(aggregate: Aggregate, *, version: int) -> dict[str, Any]:
    """Return an aggregate with its hosts and metadata."""
    return {
        **created(aggregate, version=version),
        "hosts": list(aggregate.hosts),
        "metadata": dict(aggregate.metadata),
    }


def created(aggregate: Aggregate, *, version: int) -> dict[str, Any]:
    """Return the view of an aggregate that was just created."""
    shown: dict[str, Any] = {
        "id": aggregate.id,
        "name": aggregate.name,
        "availability_zone": aggregate.metadata.get(ZONE),
        "created_at": micros(aggregate.created_at),
        "updated_at": micros(aggregate.updated_at),
        "deleted": False,
        "deleted_at": None,
    }
    if version >= UUIDS:
        shown["uuid"] = aggregate.uuid
    return shown


LOG = logging.getLogger(__name__)
_IDENTITY: Final = re.compile("-?[0-9]{1,18}", re.ASCII)
Alter = Callable[[Session], rows.AggregateChange]


class Aggregates:
    """Handlers of ``/os-aggregates``.

    Each change is committed first; then the schedulers are notified.
    """

    def __init__(self, dependencies: Dependencies) -> None:
        self._database = dependencies.api_database
        self._cells = dependencies.cells
        self._scheduler = dependencies.scheduler
        self._zones = Zones(dependencies)

    def list_all(self, call: Call) -> Answer:
        found = self._database.query(rows.list_all)
        shown = [full(aggregate, version=call.version) for aggregate in found]
        return Answer({"aggregates": shown})

    def show(self, call: Call) -> Answer:
        return _shown(self._database.query(rows.get, _identity(call)), call)

    def create(self, call: Call) -> Answer:
        asked = call.body["aggregate"]
        metadata = {key: zone for key, zone in _zone_of(asked).items() if zone is not None}
        made = self._database.write(rows.create, asked["name"], metadata=metadata)
        self._notify_schedulers(call, made)
        return Answer({"aggregate": created(made, version=call.version)})

    def update(self, call: Call) -> Answer:
        """Change its name or zone; an aggregate without a zone loses the key."""
        identity, asked = _identity(call), call.body["aggregate"]
        alter = functools.partial(
            rows.update,
            aggregate_id=identity,
            name=asked.get("name"),
            metadata=_zone_of(asked),
        )
        return self._change(call, alter, doing="update", refusal=exception.Invalid)

    def delete(self, call: Call) -> Answer:
        identity = _identity(call)
        try:
            gone = self._database.write(rows.delete, identity)
        except exception.Conflict as error:
            raise exception.Invalid(_cannot("delete", identity, error)) from error
        self._notify_schedulers(call, gone)
        return Answer()

    def act(self, call: Call) -> Answer:
        """Run the action that the body names, if the caller may."""
        ((name, asked),) = call.body.items()
        call.require(ACTIONS_POLICY[name])
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
        metadata = asked["metadata"]
        for key, value in metadata.items():
            if value is not None and (reason := complaint(key, value)):
                raise exception.Invalid(
                    f"Cannot update metadata of aggregate {identity}. {reason}."
                )
        alter = functools.partial(rows.update, aggregate_id=identity, metadata=metadata)
        return self._change(call, alter, doing="update metadata of", refusal=exception.Invalid)

    def _change(
        self, call: Call, alter: Alter, *, doing: str, refusal: type[exception.RoostError]
    ) -> Answer:
        """Change an aggregate and notify the schedulers.

        :param refusal: the exception raised when the change would break the rules of zones
        """
        try:
            changed = self._commit(alter)
        except (rows.InTwoZones, HoldServers) as error:
            raise refusal(_cannot(doing, _identity(call), error)) from error
        self._notify_schedulers(call, changed)
        return _shown(changed, call)

    @retried
    def _commit(self, alter: Alter) -> Aggregate:
        with self._database.begin() as session:
            change = alter(session)
            self._zones.check_moves(session, change)
        return change.aggregate

    def _notify_schedulers(self, call: Call, changed: Aggregate) -> None:
        try:
            self._scheduler.update_aggregates(call.context, aggregates=[changed])
        except exception.RoostError as error:
            LOG.warning(
                "the schedulers were not notified that aggregate %s has changed: %s",
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
    return {rows.ZONE: asked[rows.ZONE]} if rows.ZONE in asked else {}


def _cannot(doing: str, identity: int, why: exception.RoostError) -> str:
    return f"Cannot {doing} aggregate {identity}. Reason: {why.message}."


def _shown(aggregate: Aggregate, call: Call) -> Answer:
    return Answer({"aggregate": full(aggregate, version=call.version)})


ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/os-aggregates",
        (Aggregates, Aggregates.list_all),
        Rule(f"{_ROOT}:index", ADMIN, "List aggregates."),
    ),
    row(
        "POST /v2.1/os-aggregates",
        (Aggregates, Aggregates.create),
        Rule(f"{_ROOT}:create", ADMIN, "Create an aggregate."),
        body=CREATE,
    ),
    row(
        "GET /v2.1/os-aggregates/{aggregate_id}",
        (Aggregates, Aggregates.show),
        Rule(f"{_ROOT}:show", ADMIN, "Show an aggregate."),
    ),
    row(
        "PUT /v2.1/os-aggregates/{aggregate_id}",
        (Aggregates, Aggregates.update),
        Rule(f"{_ROOT}:update", ADMIN, "Change an aggregate's name or zone."),
        body=UPDATE,
    ),
    row(
        "DELETE /v2.1/os-aggregates/{aggregate_id}",
        (Aggregates, Aggregates.delete),
        Rule(f"{_ROOT}:delete", ADMIN, "Delete an aggregate."),
    ),
    row(
        "POST /v2.1/os-aggregates/{aggregate_id}/action",
        (Aggregates, Aggregates.act),
        Rule(
            "roost:aggregates:action",
            any_of(ACTIONS_POLICY.values()),
            "Act on an aggregate at all; each action has a rule of its own, too.",
        ),
        body=ACTION,
        checks=tuple(ACTIONS_POLICY.values()),
    ),
)
