"""Service groups in a coordination service (Redis, etcd, memcached, files), by tooz.

Each cell has a group. Its daemons join it and send heartbeats; a daemon is down when its membership
expires, or at once when it leaves. Heartbeats to the cell-conductors continue: they decide which
daemons are up while the service is unavailable, and until all had time to join again.
"""

import contextlib
import datetime
import logging
import math
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from concurrent import futures
from typing import Any, Final, Self

import tooz
from oslo_config import cfg
from stevedore import exception as stevedore_exception
from tooz import coordination

from roost import concurrency, exception, plugins
from roost.objects import Service
from roost.servicegroup.db import DatabaseGroup

LOG = logging.getLogger(__name__)
PATIENCE: Final = 2.0
# Seconds that an answer is cached: backends can only list all members, not query one.
MEMORY: Final = 1.0


class CellGroup:
    """The group of one cell: joins it, stays a member, and lists its members.

    :param coordinator: created for the member ``me``, not started
    :param address: that of the service, for messages
    :param patience: seconds that :meth:`members` waits for an answer
    :param clock: monotonic seconds
    """

    def __init__(
        self,
        coordinator: coordination.CoordinationDriver,
        *,
        me: bytes,
        name: bytes,
        address: str,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._coordinator = coordinator
        self._me = me
        self._name = name
        self._address = address
        self._patience = patience
        self._clock = clock
        self._starting = threading.Lock()
        self._beating = threading.Lock()
        self._joined = False
        self._closed = False
        self._forgotten = threading.Event()
        self._asking = threading.Lock()
        self._asked: tuple[float, futures.Future[set[bytes]]] | None = None

    def beat(self) -> None:
        """Renew the membership; join first, and again when the service has lost its data.

        :raises roost.exception.Unavailable: when the service cannot be reached
        """
        with self._beating, self._reaching():
            if self._closed:
                return
            self._start()
            self._coordinator.heartbeat()
            if not self._joined:
                self._leave()  # the membership of a daemon of this name that was killed
                self._join()
            elif not self._is_member():
                self._forgotten.set()
                self._join()

    def members(self) -> set[bytes]:
        """Return the members, by a new query, a recent one, or one that is under way.

        :raises roost.exception.Unavailable: when no answer came in time, or there is no such group
        """
        began, answer = self._question()
        try:
            return answer.result(max(0.0, began + self._patience - self._clock()))
        except futures.TimeoutError as error:
            raise exception.Unavailable(f"{self._address} does not answer") from error

    def lost_memory(self) -> bool:
        """Return, once, whether the service had lost this daemon, so probably others, too."""
        found = self._forgotten.is_set()
        self._forgotten.clear()
        return found

    def disband(self) -> None:
        """Delete the group, unless it has members.

        :raises roost.exception.Unavailable: when the service cannot be reached
        """
        nothing_to_do = (coordination.GroupNotCreated, coordination.GroupNotEmpty)
        with self._reaching(), contextlib.suppress(*nothing_to_do):
            self._start()
            self._coordinator.get_members(self._name).get()  # drops expired members
            self._coordinator.delete_group(self._name).get()

    def close(self) -> None:
        """Leave the group."""
        with self._beating:
            self._closed = True
            if self._coordinator.is_started:
                self._coordinator.stop()

    def _question(self) -> tuple[float, futures.Future[set[bytes]]]:
        """Query the members in a thread: some backends try for a minute before they fail."""
        with self._asking:
            now, asked = self._clock(), self._asked
            if asked is None or (asked[1].done() and now - asked[0] >= MEMORY):
                asked = now, concurrency.abandonable(self._ask, name="servicegroup")
                self._asked = asked
            return asked

    def _ask(self) -> set[bytes]:
        joined = self._joined
        with self._reaching():
            self._start()
            members = self._coordinator.get_members(self._name).get()
        if joined and self._me not in members:
            self._forgotten.set()
        return members

    def _start(self) -> None:
        with self._starting:
            if not self._coordinator.is_started:
                self._coordinator.start()

    def _is_member(self) -> bool:
        try:
            self._coordinator.get_member_capabilities(self._name, self._me).get()
        except (coordination.MemberNotJoined, coordination.GroupNotCreated):
            return False
        return True

    def _join(self) -> None:
        with contextlib.suppress(coordination.MemberAlreadyExist):
            try:
                self._coordinator.join_group(self._name).get()
            except coordination.GroupNotCreated:
                with contextlib.suppress(coordination.GroupAlreadyExist):
                    self._coordinator.create_group(self._name).get()
                self._coordinator.join_group(self._name).get()
        self._joined = True

    def _leave(self) -> None:
        with contextlib.suppress(coordination.MemberNotJoined, coordination.GroupNotCreated):
            self._coordinator.leave_group(self._name).get()

    @contextlib.contextmanager
    def _reaching(self) -> Iterator[None]:
        """Raise Unavailable for any error: tooz does not translate all errors of its backends."""
        try:
            yield
        except coordination.GroupNotCreated as error:
            raise exception.Unavailable(f"{self._address} has no group of this cell") from error
        except Exception as error:
            LOG.debug("%s", self._address, exc_info=True)
            raise exception.Unavailable(f"{self._address}: {error}") from error


_NETWORK_SECONDS: Final = 5  # for the service to answer, unless the URL says otherwise
_FILES: Final = "file"  # its one option ``timeout`` is the time until a silent member expires


class ToozGroup:
    """The groups of all cells in one coordination service.

    :param member: ``binary:host`` of this daemon
    :param down_time: seconds without a heartbeat after which a daemon counts as down
    :param clock: monotonic seconds
    :raises roost.exception.Invalid: when the URL names no backend that supports groups
    """

    def __init__(
        self,
        url: str,
        *,
        member: str,
        down_time: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = url
        self._member = member
        self._down_time = down_time
        self._clock = clock
        self._heartbeats = DatabaseGroup(down_time=down_time)
        self._lock = threading.Lock()
        self._groups: dict[str, CellGroup] = {}
        self._doubted_until: dict[str, float] = {}
        backend = type(self._coordinator("nowhere"))
        if backend.get_members is coordination.CoordinationDriver.get_members:
            raise exception.Invalid("[servicegroup] url: this backend of tooz supports no groups")

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts, *, binary: str) -> Self:
        url = conf.servicegroup.url
        if not url:
            raise exception.Invalid("[servicegroup] url must be set for the driver tooz")
        return cls(url, member=f"{binary}:{conf.host}", down_time=conf.service_down_time)

    def beat(self, cell_uuid: str) -> None:
        self._of(cell_uuid).beat()

    def find_up(
        self, services: Sequence[Service], *, cell_uuid: str, now: datetime.datetime
    ) -> set[str]:
        members = self._members(cell_uuid)
        up = {
            service.uuid
            for service in services
            if not service.forced_down
            and _member_id(f"{service.binary}:{service.host}", cell_uuid) in members
        }
        if self._is_doubted(cell_uuid):
            up |= self._heartbeats.find_up(services, cell_uuid=cell_uuid, now=now)
        return up

    def disband(self, cell_uuid: str) -> None:
        self._of(cell_uuid).disband()

    def close(self) -> None:
        with self._lock:
            groups = list(self._groups.values())
        for group in groups:
            group.close()

    def _members(self, cell_uuid: str) -> set[bytes]:
        group = self._of(cell_uuid)
        try:
            members = group.members()
        except exception.Unavailable as error:
            self._doubt(cell_uuid, error.message)
            return set()
        if group.lost_memory():
            self._doubt(cell_uuid, "its group was lost")
        return members

    def _of(self, cell_uuid: str) -> CellGroup:
        with self._lock:
            if cell_uuid not in self._groups:
                self._groups[cell_uuid] = CellGroup(
                    self._coordinator(cell_uuid),
                    me=_member_id(self._member, cell_uuid),
                    name=f"roost-{cell_uuid}".encode(),
                    address=_address(self._url),
                    clock=self._clock,
                )
            return self._groups[cell_uuid]

    def _coordinator(self, cell_uuid: str) -> coordination.CoordinationDriver:
        member_id = _member_id(self._member, cell_uuid)
        try:
            return coordination.get_coordinator(
                self._url, member_id, **_options(self._url, down_time=self._down_time)
            )
        except stevedore_exception.NoMatches as error:
            raise exception.Invalid("[servicegroup] url names no backend of tooz") from error
        except ImportError as error:
            raise exception.Invalid(f"[servicegroup] url: {plugins.lacking(error)}") from error
        except (ValueError, tooz.ToozError) as error:
            raise exception.Invalid(f"[servicegroup] url: {error}") from error

    def _doubt(self, cell_uuid: str, reason: str) -> None:
        """Use heartbeats, too, until every daemon had the time to join again."""
        if cell_uuid not in self._doubted_until:
            LOG.warning("cell %s: uses heartbeats beside its group: %s", cell_uuid, reason)
        self._doubted_until[cell_uuid] = self._clock() + self._down_time

    def _is_doubted(self, cell_uuid: str) -> bool:
        until = self._doubted_until.get(cell_uuid)
        if until is None:
            return False
        if self._clock() < until:
            return True
        LOG.info("cell %s: uses its group alone again", cell_uuid)
        self._doubted_until.pop(cell_uuid, None)
        return False


def _member_id(member: str, cell_uuid: str) -> bytes:
    """Return a unique member name: some backends store heartbeats by member, not by group."""
    return f"{member}@{cell_uuid}".encode()


def _options(url: str, *, down_time: float) -> dict[str, Any]:
    parts = urllib.parse.urlsplit(url)
    given = urllib.parse.parse_qs(parts.query)
    seconds = math.ceil(down_time)
    options: dict[str, Any] = {"executor": "synchronous"}
    if parts.scheme == _FILES:
        return {**options, "timeout": seconds}
    if "timeout" not in given:
        options["timeout"] = _NETWORK_SECONDS
    return {**options, "membership_timeout": seconds}


def _address(url: str) -> str:
    """Return the URL without user, password and query."""
    parts = urllib.parse.urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
