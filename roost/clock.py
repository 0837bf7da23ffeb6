"""A monotonic clock of this machine that goes on while the machine is suspended.

Use it for everything with an expiry (a lease, a deadline, a validated token): ``time.monotonic``
stops during a suspend, so that a machine that wakes would take all of them for valid.
"""

import time


def boot_clock() -> float:
    """Return seconds since the machine booted, including the time it was suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
