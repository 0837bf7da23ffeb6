"""Reads guests from the databases, with a cache."""

import threading
import time
from collections.abc import Callable
from typing import Final

from oslo_utils import uuidutils

from roost import exception
from roost.cells import Cell, Cells
from roost.db.api import instance_mappings
from roost.db.cell import guest_config, instances
from roost.db.engine import Database, retried
from roost.guestdata import About, Operator, vendor_data
from roost.guestdata.vendor_data import Vendors
from roost.metadata.documents import Documents
from roost.metadata.identity import Caller
from roost.objects import Instance

REMEMBERED: Final = 1000  # guests in the cache, at most


class Guests:
    """Reads guests, and caches each for some seconds.

    :param operator: the operator's data for all guests
    :param vendors: requests vendor data from services
    :param seconds: how long a guest is cached
    """

    def __init__(
        self,
        database: Database,
        cells: Cells,
        *,
        operator: Operator,
        seconds: float,
        vendors: Vendors = vendor_data.no_services,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._cells = cells
        self._operator = operator
        self._vendors = vendors
        self._memory = _Memory(seconds, clock)

    def documents(self, caller: Caller) -> Documents:
        """Return the documents of a guest.

        :raises roost.exception.NotFound: when there is no such guest, or it is not the caller's
        :raises roost.exception.Unavailable: when its cell is unavailable
        """
        found = self._memory.get(caller.instance_uuid) or self._read(caller)
        _check(caller, found.about.instance)  # it may have been cached for another caller
        self._memory.put(caller.instance_uuid, found)
        return found

    def save_password(self, caller: Caller, password: str) -> None:
        """Store the password that a guest posts.

        :raises roost.exception.Conflict: when it has posted one before
        """
        self._save_password(caller, password)
        self._memory.forget(caller.instance_uuid)

    @retried
    def _save_password(self, caller: Caller, password: str) -> None:
        uuid = caller.instance_uuid
        with self._cell(uuid).database.begin() as session:
            _check(caller, instances.get(session, uuid))
            if not guest_config.save_first_password(session, uuid, password):
                raise exception.Conflict("The password has been set before.")

    def _read(self, caller: Caller) -> Documents:
        uuid = caller.instance_uuid
        with self._cell(uuid).database.read() as session:
            instance = guest_config.get_instance(session, uuid)
            password = guest_config.read_password(session, uuid)
        about = About.of(
            instance, instance.network_info, operator=self._operator, password=password
        )
        return Documents(about, self._vendors)

    def _cell(self, uuid: str) -> Cell:
        """Return the cell of an instance that its user has not deleted."""
        mapping = None
        if uuidutils.is_uuid_like(uuid):
            mapping = self._database.query(instance_mappings.find, uuid)
        if mapping is None or mapping.cell_uuid is None or mapping.queued_for_delete:
            raise _missing(uuid)
        return self._cells.get(str(mapping.cell_uuid))


def _check(caller: Caller, instance: Instance) -> None:
    """Raise NotFound for another project's or host's instance, as if it did not exist."""
    if caller.project_id not in (None, instance.project_id):
        raise _missing(caller.instance_uuid)
    if caller.host not in (None, instance.host):
        raise _missing(caller.instance_uuid)


def _missing(uuid: str) -> exception.NotFound:
    return exception.NotFound(f"There is no instance {uuid} for this caller.")


class _Memory:
    """Documents by instance, for some seconds each."""

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self._seconds = seconds
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, Documents]] = {}

    def get(self, uuid: str) -> Documents | None:
        with self._lock:
            until, found = self._known.get(uuid, (0.0, None))
            return found if self._clock() < until else None

    def put(self, uuid: str, found: Documents) -> None:
        """Cache documents from now on; documents that are cached already keep their expiry."""
        with self._lock:
            known = self._known.get(uuid)
            if known is not None and known[1] is found:
                return
            self._known.pop(uuid, None)  # keeps the oldest first
            self._known[uuid] = self._clock() + self._seconds, found
            while len(self._known) > REMEMBERED:
                del self._known[next(iter(self._known))]

    def forget(self, uuid: str) -> None:
        with self._lock:
            self._known.pop(uuid, None)
