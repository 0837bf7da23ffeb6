"""How slowly a client may send or take what is long."""

from typing import Final

GRACE: Final = 30.0  # seconds that a transfer may stand still
SLOWEST: Final = 4096  # bytes a second that it must have on average


class Pace:
    """How long a transfer may stand still from now on.

    It starts with :data:`GRACE`. Waiting for the other side takes away from it, and a byte that
    moves gives back the time that it may take by :data:`SLOWEST`. Nobody has more than
    :data:`GRACE`: who was fast may not rest for long, and who sends a byte now and then has nothing
    left in the end.
    """

    def __init__(self) -> None:
        self.left = GRACE

    def waited(self, seconds: float) -> None:
        self.left -= seconds

    def moved(self, size: int) -> None:
        self.left = min(self.left + size / SLOWEST, GRACE)
