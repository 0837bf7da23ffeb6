"""For how long this process could have heard others: who cannot hear must call nobody silent."""

import threading


class Listening:
    """Notes again and again whether we could hear, and tells since when without a break.

    What interrupts it: that nothing could be heard, or that nobody noted anything for too long, as
    when the process was stopped or its clock was set. Any thread may note and ask. All times are
    seconds by one clock, which may be any.

    :param gap: seconds without a note after which nobody knows what was missed
    """

    def __init__(self, *, gap: float) -> None:
        self._gap = gap
        self._lock = threading.Lock()
        self._since: float | None = None
        self._noted_at: float | None = None

    def note(self, now: float, *, hears: bool) -> None:
        """Note whether we hear now."""
        with self._lock:
            if not hears:
                self._since = None
            elif self._since is None or self._is_broken(now):
                self._since = now
            self._noted_at = now

    def seconds(self, now: float) -> float:
        """Return for how long we have been able to hear by now; 0: we are not, or not yet."""
        with self._lock:
            if self._since is None or self._is_broken(now):
                return 0.0
            return max(0.0, now - self._since)

    def _is_broken(self, now: float) -> bool:
        return self._noted_at is None or abs(now - self._noted_at) > self._gap
