"""The server locator: finds a server by its uuid, as a build request or in its cell.

It checks the caller's rights: a server of another project is reported as not found.
"""

import dataclasses
import functools
from collections.abc import Callable

from roost import exception
from roost.api.request import Call
from roost.api.validation import is_uuid
from roost.cells import Cell, Cells
from roost.db.api import build_requests, instance_mappings
from roost.db.cell import instances
from roost.db.engine import Database, Session
from roost.objects import Instance, InstanceMapping, RequestSpec


@dataclasses.dataclass(frozen=True)
class ServerRef:
    """An instance and its cell; no cell: it is still a build request."""

    instance: Instance
    cell: Cell | None


class ServerLocator:
    """Reads the mapping in the API database, then the instance in the cell: one statement each."""

    def __init__(self, database: Database, cells: Cells) -> None:
        self._database = database
        self._cells = cells

    def find(
        self, call: Call, uuid: str, *, deleted: bool = False, state_only: bool = False
    ) -> ServerRef:
        """Return a server that the caller may touch.

        :param deleted: also find a deleted server, until it is purged
        :param state_only: of one in a cell only the fields of its state are needed
        :raises roost.exception.NotFound: when there is none, or the caller may not touch it
        """
        build_request, mapping = self._request_or_mapping(call, uuid, deleted=deleted)
        if (
            build_request is None and mapping.cell_uuid is None
        ):  # it was mapped to a cell between two statements
            build_request, mapping = self._request_or_mapping(call, uuid, deleted=deleted)
        if build_request is not None:
            return ServerRef(build_request, None)
        if mapping.cell_uuid is None:
            raise missing(uuid)
        read: Callable[..., Instance | None] = instances.find_state
        if not state_only:
            read = functools.partial(instances.find, deleted=deleted)
        return self._in_cell(mapping, read, deleted=deleted)

    def find_mapping(
        self, call: Call, uuid: str, *, deleted: bool = False
    ) -> tuple[InstanceMapping, RequestSpec | None]:
        """Return the data in the API database about a server whose cell is unavailable.

        :raises roost.exception.NotFound: as :meth:`find` does
        """
        with self._database.read() as session:
            mapping = _mapping(session, call, uuid, deleted=deleted)
            return mapping, build_requests.find_spec(session, mapping.request_uuid)

    def _in_cell(
        self, mapping: InstanceMapping, read: Callable[..., Instance | None], *, deleted: bool
    ) -> ServerRef:
        """Return the cell's row. While it is unavailable, a server to be deleted is not found."""
        uuid = str(mapping.instance_uuid)
        cell = self._cells.get(str(mapping.cell_uuid))
        try:
            instance = cell.database.query(read, uuid)
        except exception.Unavailable as error:
            if mapping.queued_for_delete and not deleted:
                raise missing(uuid) from error
            raise
        if instance is None:
            raise missing(uuid)
        return ServerRef(instance, cell)

    def _request_or_mapping(
        self, call: Call, uuid: str, *, deleted: bool
    ) -> tuple[Instance | None, InstanceMapping]:
        with self._database.read() as session:
            mapping = _mapping(session, call, uuid, deleted=deleted)
            unplaced = mapping.cell_uuid is None
            build_request = build_requests.find(session, uuid) if unplaced else None
        return (None if build_request is None else build_request.instance), mapping


def _mapping(session: Session, call: Call, uuid: str, *, deleted: bool) -> InstanceMapping:
    mapping = instance_mappings.find(session, uuid) if is_uuid(uuid) else None
    if mapping is not None and mapping.withdrawn:
        raise missing(uuid)
    if mapping is None and deleted and is_uuid(uuid):
        mapping = instance_mappings.find_deleted(session, uuid)
    if mapping is None:
        raise missing(uuid)
    call.may_touch(mapping.project_id, name=f"Instance {uuid}")
    return mapping


def missing(uuid: str) -> exception.NotFound:
    return exception.NotFound(f"Instance {uuid} could not be found.")
