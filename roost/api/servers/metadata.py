"""Metadata of servers: keys and values that users store with a server.

``tags.py`` uses :func:`change`, too: concurrent changes are not lost.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final

from roost import exception, states
from roost.api.compute import quota_resources
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerLocator, ServerRef, missing
from roost.api.policy import MEMBER, READER, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.servers import locks
from roost.api.validation import always, wrapped
from roost.db.cell import metadata
from roost.db.engine import Database, retried

_ROOT = "os_compute_api:server-metadata"
_STATES: Final = (*states.WITH_GUEST, states.RESIZED)


METADATA: Final[dict[str, Any]] = {
    "type": "object",
    "patternProperties": {r"^[a-zA-Z0-9\-_:. ]{1,255}$": {"type": "string", "maxLength": 255}},
    "additionalProperties": False,
}
CHANGE: Final = always(wrapped("metadata", METADATA))
CHANGE_ONE: Final = always(wrapped("meta", {**METADATA, "minProperties": 1, "maxProperties": 1}))


# (current value, whether an earlier attempt may have changed it already) -> new value
Edit = Callable[[Any, bool], Any]
_TRIES: Final = 100  # each lost race is another request's success


@dataclasses.dataclass(frozen=True)
class Edited:
    """The new value, and whether this request changed it."""

    value: Any
    changed: bool


def change(server_ref: ServerRef, kind: metadata.Kind, edit: Edit, *, doing: str) -> Edited:
    """Edit a server's metadata or tags; concurrent changes are not lost.

    :param edit: has no side effects, since it may be called again
    :param doing: the name of the action in error messages
    :raises roost.exception.Conflict: when the server's state does not allow it, or it has no cell
        yet
    :raises roost.exception.NotFound: when the server does not exist any more
    """
    uuid = str(server_ref.instance.uuid)
    if server_ref.cell is None:
        raise _refused(uuid, server_ref.instance.vm_state, doing)
    database, tried = server_ref.cell.database, list[Any]()
    for _ in range(_TRIES):
        edited = _try(database, uuid, kind, edit, doing=doing, tried=tried)
        if edited is not None:
            return edited
    raise exception.Conflict(f"Too many requests change the {kind} of instance {uuid}; try again.")


@retried
def _try(
    database: Database, uuid: str, kind: metadata.Kind, edit: Edit, *, doing: str, tried: list[Any]
) -> Edited | None:
    """Read, edit and swap; None when another request was faster.

    :param tried: values of earlier attempts, which may have been committed
    """
    with database.begin() as session:
        before = metadata.find(session, uuid, kind)
        if before is None:
            raise missing(uuid)
        if tried and before.value == tried[-1]:
            return Edited(before.value, changed=True)
        if before.vm_state not in _STATES:
            raise _refused(uuid, before.vm_state, doing)
        after = edit(before.value, bool(tried))
        if after == before.value:
            return Edited(after, changed=bool(tried))
        if not metadata.swap(session, uuid, kind, before=before, value=after):
            return None
        tried.append(after)
    return Edited(after, changed=True)


def _refused(uuid: str, vm_state: str, doing: str) -> exception.Conflict:
    return exception.Conflict(
        f"Cannot '{doing}' instance {uuid} while it is in vm_state {vm_state}"
    )


Metadata = Mapping[str, str]
_UPDATE: Final = "update metadata"
_DELETE: Final = "delete metadata"


class ServerMetadata:
    """Handlers of ``/servers/{id}/metadata``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._database = dependencies.api_database
        self._limits = dependencies.options.quota
        self._locator = ServerLocator(dependencies.api_database, dependencies.cells)

    def list_all(self, call: Call) -> Answer:
        return Answer({"metadata": dict(self._find(call).instance.metadata)})

    def show(self, call: Call) -> Answer:
        metadata, key = self._find(call).instance.metadata, call.params["key"]
        if key not in metadata:
            raise _no_item()
        return Answer({"meta": {key: metadata[key]}})

    def merge(self, call: Call) -> Answer:
        """Add items, or change existing ones; others stay."""
        return Answer({"metadata": self._write(call, call.body["metadata"], keep=True).value})

    def replace(self, call: Call) -> Answer:
        return Answer({"metadata": self._write(call, call.body["metadata"], keep=False).value})

    def update(self, call: Call) -> Answer:
        if call.params["key"] not in call.body["meta"]:
            raise exception.Invalid("Request body and URI mismatch")
        self._write(call, call.body["meta"], keep=True)
        return Answer({"meta": call.body["meta"]})

    def delete(self, call: Call) -> Answer:
        key = call.params["key"]
        server_ref = self._find(call)
        locks.refuse(call, server_ref.instance)
        _without(key, server_ref.instance.metadata, gone=False)  # 404 takes precedence over 409

        def edit(before: Metadata, again: bool) -> Metadata:
            return _without(key, before, gone=again)

        change(server_ref, metadata.METADATA, edit, doing=_DELETE)
        return Answer()

    def _find(self, call: Call) -> ServerRef:
        return self._locator.find(call, call.params["server_id"])

    def _write(self, call: Call, asked: Metadata, *, keep: bool) -> Edited:
        """Write the given items; ``keep`` the others."""
        server_ref = self._find(call)
        locks.refuse(call, server_ref.instance)
        most = self._database.query(
            quota_resources.read, server_ref.instance, defaults=self._limits
        )

        def edit(before: Metadata, _again: bool) -> Metadata:
            after = {**before, **asked} if keep else dict(asked)
            quota_resources.check(after, most=most)
            return after

        return change(server_ref, metadata.METADATA, edit, doing=_UPDATE)


def _without(key: str, metadata: Metadata, *, gone: bool) -> Metadata:
    """Remove an item; ``gone``: a missing item is no error."""
    if key not in metadata and not gone:
        raise _no_item()
    return {name: value for name, value in metadata.items() if name != key}


def _no_item() -> exception.NotFound:
    return exception.NotFound("Metadata item was not found")


_ALL: Final = "/v2.1/servers/{server_id}/metadata"
_ONE: Final = f"{_ALL}/{{key}}"
ROUTES: Final[tuple[Route, ...]] = (
    row(
        f"GET {_ALL}",
        (ServerMetadata, ServerMetadata.list_all),
        Rule(f"{_ROOT}:index", READER, "List a server's metadata."),
    ),
    row(
        f"POST {_ALL}",
        (ServerMetadata, ServerMetadata.merge),
        Rule(f"{_ROOT}:create", MEMBER, "Add items to a server's metadata."),
        body=CHANGE,
    ),
    row(
        f"PUT {_ALL}",
        (ServerMetadata, ServerMetadata.replace),
        Rule(f"{_ROOT}:update_all", MEMBER, "Replace a server's metadata."),
        body=CHANGE,
    ),
    row(
        f"GET {_ONE}",
        (ServerMetadata, ServerMetadata.show),
        Rule(f"{_ROOT}:show", READER, "Show one item of a server's metadata."),
    ),
    row(
        f"PUT {_ONE}",
        (ServerMetadata, ServerMetadata.update),
        Rule(f"{_ROOT}:update", MEMBER, "Set one item of a server's metadata."),
        body=CHANGE_ONE,
    ),
    row(
        f"DELETE {_ONE}",
        (ServerMetadata, ServerMetadata.delete),
        Rule(f"{_ROOT}:delete", MEMBER, "Delete one item of a server's metadata."),
        status=204,
    ),
)
