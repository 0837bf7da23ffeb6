"""What the databases know of the guest that asks."""

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
from roost.metadata.identity import Asker
from roost.objects import Instance

REMEMBERED: Final = 1000  # guests, at most


class Guests:
    """Reads guests, and remembers each for some seconds.

    :param operator: what the guests are told by the operator
    :param vendors: the services that have something to say to each
    :param seconds: how long what was read is taken for true
    """

    def __init__(
        self,
        database: Database,
        cells: Cells,
        *,
        operator: Operator,
        seconds: float,
        vendors: Vendors = vendor_data.nobody,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._cells = cells
        self._operator = operator
        self._vendors = vendors
        self._memory = _Memory(seconds, clock)

    def documents(self, asker: Asker) -> Documents:
        """Return what a guest may be told.

        :raises roost.exception.NotFound: when there is no such guest, or it is not who it says
        :raises roost.exception.Unavailable: when its cell is away
        """
        found = self._memory.get(asker.instance_uuid) or self._read(asker)
        _check(asker, found.about.instance)  # what is remembered may be another asker's
        self._memory.put(asker.instance_uuid, found)
        return found

    def save_password(self, asker: Asker, password: str) -> None:
        """Keep the password that a guest tells of itself.

        :raises roost.exception.Conflict: when it has told one before
        """
        self._save_password(asker, password)
        self._memory.forget(asker.instance_uuid)

    @retried
    def _save_password(self, asker: Asker, password: str) -> None:
        uuid = asker.instance_uuid
        with self._cell(uuid).database.begin() as session:
            _check(asker, instances.get(session, uuid))
            if not guest_config.save_first_password(session, uuid, password):
                raise exception.Conflict("The password has been told before.")

    def _read(self, asker: Asker) -> Documents:
        uuid = asker.instance_uuid
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
            with self._database.read() as session:
                mapping = instance_mappings.find(session, uuid)
        if mapping is None or mapping.cell_uuid is None or mapping.queued_for_delete:
            raise _missing(uuid)
        return self._cells.get(str(mapping.cell_uuid))


def _check(asker: Asker, instance: Instance) -> None:
    """Refuse who asks for another's: as if there were none, so nobody learns that there is."""
    if asker.project_id not in (None, instance.project_id):
        raise _missing(asker.instance_uuid)
    if asker.host not in (None, instance.host):
        raise _missing(asker.instance_uuid)


def _missing(uuid: str) -> exception.NotFound:
    return exception.NotFound(f"There is no instance {uuid} for who asks.")


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
        """Remember it from now on; what is remembered is not remembered for longer by that."""
        with self._lock:
            known = self._known.get(uuid)
            if known is not None and known[1] is found:
                return
            self._known.pop(uuid, None)  # so that the oldest is the first
            self._known[uuid] = self._clock() + self._seconds, found
            while len(self._known) > REMEMBERED:
                del self._known[next(iter(self._known))]

    def forget(self, uuid: str) -> None:
        with self._lock:
            self._known.pop(uuid, None)
