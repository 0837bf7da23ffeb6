"""Startup checks of a daemon, repeated until they pass."""

import dataclasses
import itertools
import logging
import threading
from collections.abc import Callable, Iterable, Iterator

from roost import exception

LOG = logging.getLogger(__name__)
LONGEST_PAUSE = 30.0  # seconds


@dataclasses.dataclass(frozen=True)
class StartupCheck:
    """A condition that must hold before a daemon serves; ``ask`` raises why it does not hold."""

    name: str
    ask: Callable[[], object]


def growing_pauses() -> Iterator[float]:
    """1, 2, 4, 8, 16, 30, 30 … seconds."""
    return (min(2.0**step, LONGEST_PAUSE) for step in itertools.count())


class StartupWait:
    """Repeats checks until they pass, or until ``stopping`` is set.

    :param tell: called with a line about the check it waits for
    :param pause: waits the given seconds; tests replace it
    """

    def __init__(
        self,
        name: str,
        *,
        stopping: threading.Event,
        tell: Callable[[str], None] = lambda _: None,
        pauses: Callable[[], Iterable[float]] = growing_pauses,
        pause: Callable[[float], object] | None = None,
    ) -> None:
        self._name = name
        self._stopping = stopping
        self._tell = tell
        self._pauses = pauses
        self._pause = pause or stopping.wait

    def until(self, checks: Iterable[StartupCheck]) -> bool:
        """Run one check after the other; return whether all have passed: False means stopped."""
        return all(self._until_passed(check) for check in checks)

    def _until_passed(self, check: StartupCheck) -> bool:
        for attempt, pause in enumerate(self._pauses()):
            if self._stopping.is_set():
                return False
            self._tell(f"waiting for {check.name}")
            reason = self._why_not(check)
            if self._stopping.is_set():
                return False
            if reason is None:
                if attempt:
                    LOG.info("%s: %s is available now", self._name, check.name)
                return True
            LOG.warning(
                "%s waits for %s, checks again in %g s: %s", self._name, check.name, pause, reason
            )
            self._tell(f"waiting for {check.name}: {reason}")
            self._pause(pause)
        return False

    def _why_not(self, check: StartupCheck) -> str | None:
        """Run the check in a thread: some libraries block for ever on an unavailable broker."""
        asked = _Asked(check)
        while not asked.over.wait(timeout=0.5):
            if self._stopping.is_set():
                return "stopped"
        return asked.reason


class _Asked:
    """One running attempt of a check."""

    def __init__(self, check: StartupCheck) -> None:
        self.over = threading.Event()
        self.reason: str | None = None
        self._check = check
        threading.Thread(target=self._ask, name=f"check {check.name}", daemon=True).start()

    def _ask(self) -> None:
        try:
            self._check.ask()
        except exception.RoostError as error:
            self.reason = error.message
        except Exception as error:
            LOG.debug("%s", self._check.name, exc_info=True)
            self.reason = f"{type(error).__name__}: {error}"
        finally:
            self.over.set()
