"""Whether a caller may call a method: its declaration, compared with who sent the message."""

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from roost import exception
from roost.callers import Level, MessageSender

ROWS: Final = "rows"
NOTHING: Final = "nothing"


def names(compared: str | None) -> bool:
    """Tell whether what is declared to be compared with a caller is an argument."""
    return compared not in (None, ROWS, NOTHING)


class AccessCheck:
    """Who may call one method.

    :param name: of the method, for messages
    :param levels: who may call it, and the user of the receiver anyway
    :param own_host: the argument that must name the caller, when it is a host; see
        :func:`roost.rpc.interface.call`
    :param own_cell: the argument that must name the caller's cell
    :param in_cell: the user of the cell that is served; None: callers of any cell
    :param check_cell: raises :class:`roost.exception.Forbidden` when a caller is of another cell
        than the one of this uuid; None: no argument names a cell
    """

    def __init__(
        self,
        name: str,
        levels: Iterable[Level],
        *,
        own_host: str | None,
        own_cell: str | None,
        in_cell: str | None,
        check_cell: Callable[[MessageSender, str], None] | None,
    ) -> None:
        self._name = name
        self._levels = frozenset(levels)
        self._own_host = own_host
        self._own_cell = own_cell
        self._in_cell = in_cell
        self._check_cell = check_cell

    def check(self, caller: MessageSender, arguments: Mapping[str, Any]) -> None:
        """Compare a message with its caller, before anything is done.

        :raises roost.exception.Forbidden: naming the user, and what it may not do
        """
        if caller.level is Level.PEER:
            return
        if not self._may_call(caller):
            raise self._refusal(caller, "may not call it")
        if caller.host is not None and names(self._own_host):
            named = _find(arguments, str(self._own_host))
            if named != caller.host:
                raise self._refusal(caller, f"names {self._own_host} {named!r}, not its own")
        if caller.cell is not None and self._check_cell is not None and names(self._own_cell):
            self._check_cell(caller, str(_find(arguments, str(self._own_cell))))

    def _may_call(self, caller: MessageSender) -> bool:
        if self._in_cell is not None and caller.cell not in (None, self._in_cell):
            return False
        # The whole cell may do what its hosts may: hosts may have no users of their own.
        asks_as = {caller.level, Level.HOST} if caller.level is Level.CELL else {caller.level}
        return not self._levels.isdisjoint(asks_as)

    def _refusal(self, caller: MessageSender, why: str) -> exception.Forbidden:
        who = f"the user {caller.user!r} of the bus" if caller.user else "somebody without a user"
        return exception.Forbidden(f"{self._name}(): {who} {why}; see [bus] api_users")


def _find(arguments: Mapping[str, Any], path: str) -> Any:
    """Return an argument, or what it holds (``report.host``); None: it is not there."""

    def step(value: Any, name: str) -> Any:
        if isinstance(value, Mapping):
            return value.get(name)
        return getattr(value, name, None)

    return functools.reduce(step, path.split("."), arguments)
