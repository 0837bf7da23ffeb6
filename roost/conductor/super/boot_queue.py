"""Accepted requests of which a message has come: all that wait are placed together.

Nobody waits for a group to fill: what comes while one is under way is the next. Before:
``manager.py``. After: ``boot_service.py``, which leases the rows; so a request that is lost here is
found by the sweeper.
"""

import collections
import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from roost import exception
from roost.conductor.super.boot_service import BootOrder
from roost.context import current

LOG = logging.getLogger(__name__)
_MOST: Final = 64  # instances of a group, at least one request
_SLOW: Final = 0.5  # seconds; a group usually takes a fraction


class BootQueue:
    """Places requests in groups, in the threads that bring them.

    A thread that finds a group under way leaves its request to that one's thread. If the group is
    slow (a database that hangs), it takes all that wait itself.

    :param build: places requests: :meth:`BootService.build`
    """

    def __init__(self, build: Callable[..., Any]) -> None:
        self._build = build
        self._waiting: collections.deque[BootOrder] = collections.deque()
        self._begun: dict[int, float] = {}  # group under way -> when
        self._lock = threading.Lock()

    def put(self, order: BootOrder) -> None:
        with self._lock:
            self._waiting.append(order)
            if any(time.monotonic() - begun < _SLOW for begun in self._begun.values()):
                return
            self._begun[id(order)] = time.monotonic()
        while group := self._take(id(order)):
            self._place(group)

    def _take(self, worker: int) -> dict[str, BootOrder]:
        """Return the next group, by request: a message may come twice."""
        with self._lock:
            group: dict[str, BootOrder] = {}
            while self._waiting and sum(len(one.instance_uuids) for one in group.values()) < _MOST:
                order = self._waiting.popleft()
                group[order.request_uuid] = order
            if group:
                self._begun[worker] = time.monotonic()
            else:
                del self._begun[worker]
            return group

    def _place(self, group: dict[str, BootOrder]) -> None:
        orders = [*group.values()]
        with current(orders[0].context if len(orders) == 1 else None):
            try:
                self._build(*orders)
            except exception.RoostError as error:
                LOG.warning("%d requests are postponed: %s", len(orders), error.message)
            except Exception:
                LOG.exception("%d requests are postponed", len(orders))
