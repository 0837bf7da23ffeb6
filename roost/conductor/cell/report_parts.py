"""The parts of hosts' reports that schedulers read; hosts learn them with their heartbeats.

Hosts cannot ask the schedulers: on their bus they may only send.
"""

import contextlib
from typing import Final

from roost import exception
from roost.context import admin_context
from roost.rpc.scheduler import CellScheduler

_SECONDS: Final = 5  # timeout of the question: a daemon that stops waits for it


class ReportParts:
    """What the schedulers answered last; ``read`` is None before their first answer."""

    def __init__(self, schedulers: CellScheduler) -> None:
        self._schedulers = schedulers.within(_SECONDS)
        self.read: list[str] | None = None

    def ask(self) -> None:
        """Ask the schedulers again; while none answers the last answer stays.

        Call it periodically. Schedulers of the release before do not know the question.
        """
        with contextlib.suppress(exception.Unavailable, exception.VersionTooOld):
            self.read = self._schedulers.list_read_parts(admin_context())
