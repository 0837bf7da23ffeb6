"""The server locator: finds a server by its uuid, as a build request or in its cell.

It makes sure that the caller may touch the server: of others' servers it says that there are none.
"""

import dataclasses

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
    """An instance and its cell; no cell: it is still a wish."""

    instance: Instance
    cell: Cell | None


class ServerLocator:
    """Asks the API database where, then the cell what: one statement each."""

    def __init__(self, database: Database, cells: Cells) -> None:
        self._database = database
        self._cells = cells

    def find(self, call: Call, uuid: str, *, deleted: bool = False) -> ServerRef:
        """Return a server that the caller may touch.

        :param deleted: a deleted one will do, until it is purged
        :raises roost.exception.NotFound: when there is none, or none for this caller
        """
        build_request, mapping = self._wish_or_mapping(call, uuid, deleted=deleted)
        if (
            build_request is None and mapping.cell_uuid is None
        ):  # it was placed between two statements
            build_request, mapping = self._wish_or_mapping(call, uuid, deleted=deleted)
        if build_request is not None:
            return ServerRef(build_request, None)
        if mapping.cell_uuid is None:
            raise missing(uuid)
        return self._in_cell(mapping, deleted=deleted)

    def find_mapping(
        self, call: Call, uuid: str, *, deleted: bool = False
    ) -> tuple[InstanceMapping, RequestSpec | None]:
        """Return what the API database knows of a server whose cell is away.

        :raises roost.exception.NotFound: as :meth:`find` does
        """
        with self._database.read() as session:
            mapping = _mapping(session, call, uuid, deleted=deleted)
            return mapping, build_requests.find_spec(session, mapping.request_uuid)

    def _in_cell(self, mapping: InstanceMapping, *, deleted: bool) -> ServerRef:
        """Return what the cell has. While it is away, a server that is to be deleted is gone."""
        uuid = str(mapping.instance_uuid)
        cell = self._cells.get(str(mapping.cell_uuid))
        try:
            with cell.database.read() as session:
                instance = instances.find(session, uuid, deleted=deleted)
        except exception.Unavailable as error:
            if mapping.queued_for_delete and not deleted:
                raise missing(uuid) from error
            raise
        if instance is None:
            raise missing(uuid)
        return ServerRef(instance, cell)

    def _wish_or_mapping(
        self, call: Call, uuid: str, *, deleted: bool
    ) -> tuple[Instance | None, InstanceMapping]:
        with self._database.read() as session:
            mapping = _mapping(session, call, uuid, deleted=deleted)
            unplaced = mapping.cell_uuid is None
            build_request = build_requests.find(session, uuid) if unplaced else None
        return (None if build_request is None else build_request.instance), mapping


def _mapping(session: Session, call: Call, uuid: str, *, deleted: bool) -> InstanceMapping:
    mapping = instance_mappings.find(session, uuid) if is_uuid(uuid) else None
    if mapping is None and deleted and is_uuid(uuid):
        mapping = instance_mappings.find_deleted(session, uuid)
    if mapping is None:
        raise missing(uuid)
    call.may_touch(mapping.project_id, name=f"Instance {uuid}")
    return mapping


def missing(uuid: str) -> exception.NotFound:
    return exception.NotFound(f"Instance {uuid} could not be found.")
