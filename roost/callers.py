"""Who sent a message, by the user of the bus that the broker vouches for.

Names of users tell what they are: the API level's are listed in ``[bus] api_users``; ``CELL~HOST``
is one host of a cell, and any other the whole cell of that name: its cell-conductors.
"""

import enum
from collections.abc import Collection
from typing import Final, NamedTuple

SEPARATOR: Final = "~"
BUS_USER: Final = "bus_user"  # travels beside the context: who the bus says has sent a message


class Level(enum.Enum):
    """What a user of a bus speaks for."""

    API = "API level"
    CELL = "cell-conductors"
    HOST = "hosts"
    PEER = "whoever has the user of the receiver"
    UNKNOWN = "nobody"


class MessageSender(NamedTuple):
    """Who sent a message.

    :ivar user: of the bus; None: the bus vouches for nobody
    :ivar cell: the user of its cell, for a cell or a host; None: it is not confined to one
    :ivar host: None: it is not confined to one
    """

    level: Level
    user: str | None
    cell: str | None = None
    host: str | None = None


OURSELVES: Final = MessageSender(Level.PEER, None)


class Callers:
    """Tells callers by their users, as a receiver sees them.

    :param own: the receiver's own user; who comes as the same may do what the receiver may
    :param api_users: those of the API level
    """

    def __init__(self, own: str | None = None, api_users: Collection[str] = ()) -> None:
        self.own = own
        self._api_users = frozenset(api_users)

    @property
    def own_cell(self) -> str | None:
        """The user of the receiver's cell, if it is in one."""
        return None if self.own is None else self.own.partition(SEPARATOR)[0]

    def identify(self, user: str | None) -> MessageSender:
        """Return who a user is."""
        if user == self.own:
            return MessageSender(Level.PEER, user)
        if user is None:
            return MessageSender(Level.UNKNOWN, user)
        if user in self._api_users:
            return MessageSender(Level.API, user)
        cell, separator, host = user.partition(SEPARATOR)
        if separator:
            return MessageSender(Level.HOST, user, cell, host)
        return MessageSender(Level.CELL, user, cell)
