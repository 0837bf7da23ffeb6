"""What a host did for an instance, step by step, as its user will see it."""

import contextlib
import datetime
from collections.abc import Iterator
from typing import Final

from roost import exception
from roost.objects import InstanceActionEvent

_UNREACHABLE: Final = "A part of the cloud could not be reached."
_FAILED: Final = "Something failed on the host of the server."


class Timeline:
    """Gathers the events of one operation, to be sent in one go with its outcome."""

    def __init__(self, host: str) -> None:
        self.events: list[InstanceActionEvent] = []
        self._host = host

    @contextlib.contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time the block as one event, which is an Error when the block raises."""
        start = _now()
        try:
            yield
        except Exception as error:
            self._add(name, start, result="Error", details=details(error))
            raise
        self._add(name, start, result="Success", details=None)

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


def reason(error: Exception) -> str:
    """Say to users why something failed: what they can mend in its words, else that it did."""
    if isinstance(error, exception.RoostError) and error.for_users and error.message:
        return error.message
    return _UNREACHABLE if isinstance(error, exception.Unavailable) else _FAILED


def details(error: Exception) -> str:
    """Say to administrators why something failed: our own kinds in their words, or the class.

    Addresses of databases and buses are in the log alone, as are tracebacks from other daemons.
    """
    if isinstance(error, exception.Unavailable) and not isinstance(error, exception.Timeout):
        return _UNREACHABLE
    if isinstance(error, exception.RoostError) and error.message:
        return error.message
    return f"{type(error).__name__}: {error}".partition("\n")[0]


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)
