"""What happened to the columns, so that who made something of them can mend just that."""

from typing import Final, NamedTuple

_LONGEST: Final = 65536


class Position(NamedTuple):
    """A moment in a journal."""

    epoch: int
    used: int
    described: int


class Journal:
    """Rows whose usage changed, and rows of which anything may have changed, in order.

    An epoch ends when all rows may have changed, or when there is too much to remember.
    """

    def __init__(self) -> None:
        self._epoch = 0
        self._used: list[int] = []
        self._described: list[int] = []

    def now(self) -> Position:
        return Position(self._epoch, len(self._used), len(self._described))

    def used(self, row: int) -> None:
        if len(self._used) >= _LONGEST:
            self.restart()
        self._used.append(row)

    def described(self, rows: list[int]) -> None:
        if len(self._described) >= _LONGEST:
            self.restart()
        self._described += rows

    def restart(self) -> None:
        """Let everybody look at everything anew."""
        self._epoch += 1
        self._used.clear()
        self._described.clear()

    def since(self, position: Position) -> tuple[list[int], list[int]] | None:
        """Return the rows used and the rows described since; None: look at everything."""
        if position.epoch != self._epoch:
            return None
        return self._used[position.used :], self._described[position.described :]
