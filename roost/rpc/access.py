"""Access control of RPC methods: compares a method's declaration with the sender of a message."""

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from roost import exception
from roost.callers import Level, MessageSender

ROWS: Final = "rows"
NOTHING: Final = "nothing"


def names(compared: str | None) -> bool:
    """Return whether the caller is compared with an argument of the method."""
    return compared not in (None, ROWS, NOTHING)


class AccessCheck:
    """Checks the callers of one method.

    :param name: name of the method, for messages
    :param levels: levels that may call it; the receiver's own user always may
    :param own_host: the argument that must name the caller, if the caller is a host; see
        :func:`roost.rpc.interface.call`
    :param own_cell: the argument that must name the caller's cell
    :param in_cell: the user of the cell that is served; None: callers of any cell
    :param check_cell: raises :class:`roost.exception.Forbidden` when the caller is not of the cell
        with this uuid; None: no argument names a cell
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
        """Compare a message with its caller, before the method runs.

        :raises roost.exception.Forbidden: names the user and the refused call
        """
        if caller.level is Level.PEER:
            return
        if not self._may_call(caller):
            raise self._refusal(caller, "may not call it")
        if caller.host is not None and names(self._own_host):
            named = find(arguments, str(self._own_host))
            if named != caller.host:
                raise self._refusal(caller, f"names {self._own_host} {named!r}, not its own")
        if caller.cell is not None and self._check_cell is not None and names(self._own_cell):
            self._check_cell(caller, str(find(arguments, str(self._own_cell))))

    def _may_call(self, caller: MessageSender) -> bool:
        if self._in_cell is not None and caller.cell not in (None, self._in_cell):
            return False
        # A cell's user may call what its hosts may: hosts may have no users of their own.
        asks_as = {caller.level, Level.HOST} if caller.level is Level.CELL else {caller.level}
        return not self._levels.isdisjoint(asks_as)

    def _refusal(self, caller: MessageSender, why: str) -> exception.Forbidden:
        who = f"the user {caller.user!r} of the bus" if caller.user else "a sender without a user"
        return exception.Forbidden(f"{self._name}(): {who} {why}; see [bus] api_users and readers")


def find(arguments: Mapping[str, Any], path: str) -> Any:
    """Return an argument, or an attribute of it (``report.host``); None: it does not exist."""

    def step(value: Any, name: str) -> Any:
        if isinstance(value, Mapping):
            return value.get(name)
        return getattr(value, name, None)

    return functools.reduce(step, path.split("."), arguments)
