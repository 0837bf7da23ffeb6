"""The clock of this machine that nobody sets, and that goes on while the machine is suspended.

What is right until a moment (a lease, a deadline, a token that was looked at) is measured by it:
``time.monotonic`` stands still meanwhile, and a machine that wakes would take all of it for good.
"""

import time


def boot_clock() -> float:
    """Return seconds since the machine was booted, those included for which it was suspended."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
