"""Instance action events: the timed steps of an operation on this host, for the API to show."""

import contextlib
import datetime
from collections.abc import Iterator

from roost.exception import details
from roost.objects import InstanceActionEvent


class InstanceEvents:
    """Collects the events of one operation, to be sent together with its outcome."""

    def __init__(self, host: str) -> None:
        self.events: list[InstanceActionEvent] = []
        self._host = host
        self._said: str | None = None

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time the block as one event, which is an Error when the block raises."""
        start = _now()
        try:
            yield
        except Exception as error:
            self._add(name, start, result="Error", details=details(error))
            raise
        self._add(name, start, result="Success", details=self._said)
        self._said = None

    def say(self, what: str) -> None:
        """Add to the event of the step that is under way what came of it, for administrators."""
        self._said = what

    def _add(
        self, name: str, start: datetime.datetime, *, result: str, details: str | None
    ) -> None:
        self.events.append(
            InstanceActionEvent.of(
                event=name,
                host=self._host,
                start_time=start,
                finish_time=_now(),
                result=result,
                details=details,
            )
        )


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
