"""The group of one cell in a coordination service, as one daemon sees it."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Final

from tooz import coordination

from roost import concurrency, exception

LOG = logging.getLogger(__name__)
PATIENCE: Final = 2.0
# Seconds that an answer counts: backends tell of one member only by telling of all.
MEMORY: Final = 1.0


class CellGroup:
    """Joins the group, stays in it, and tells who else is in it.

    :param coordinator: made for the member ``me``, not started
    :param place: where the service is, for people
    :param patience: seconds that whoever asks for the members waits for an answer
    :param clock: seconds that never go back
    """

    def __init__(
        self,
        coordinator: coordination.CoordinationDriver,
        *,
        me: bytes,
        name: bytes,
        place: str,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._coordinator = coordinator
        self._me = me
        self._name = name
        self._place = place
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
        """Stay a member, become one, or become one again when the service has lost its memory.

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
        """Return the members, asked for now, a moment ago, or in a question that is under way.

        :raises roost.exception.Unavailable: when no answer came in time, or there is no such group
        """
        began, answer = self._question()
        try:
            return answer.result(max(0.0, began + self._patience - self._clock()))
        except futures.TimeoutError as error:
            raise exception.Unavailable(f"{self._place} does not answer") from error

    def lost_memory(self) -> bool:
        """Tell, once, that the service had forgotten this daemon, so probably others, too."""
        found = self._forgotten.is_set()
        self._forgotten.clear()
        return found

    def disband(self) -> None:
        """Remove the group, unless somebody is in it.

        :raises roost.exception.Unavailable: when the service cannot be reached
        """
        nothing_to_do = (coordination.GroupNotCreated, coordination.GroupNotEmpty)
        with self._reaching(), contextlib.suppress(*nothing_to_do):
            self._start()
            self._coordinator.get_members(self._name).get()  # drops those that ran out
            self._coordinator.delete_group(self._name).get()

    def close(self) -> None:
        """Leave the group."""
        with self._beating:
            self._closed = True
            if self._coordinator.is_started:
                self._coordinator.stop()

    def _question(self) -> tuple[float, futures.Future[set[bytes]]]:
        """Ask, in a thread: some backends try for a minute before they give up."""
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
        """Each backend's client has failures of its own, and tooz does not translate them all."""
        try:
            yield
        except coordination.GroupNotCreated as error:
            raise exception.Unavailable(f"{self._place} knows no group of this cell") from error
        except Exception as error:
            LOG.debug("%s", self._place, exc_info=True)
            raise exception.Unavailable(f"{self._place}: {error}") from error
