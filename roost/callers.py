"""The sender of a message, by the user of the bus that the broker authenticated.

The name of a user says what it is: the API level's are listed in ``[bus] api_users``, those of
other services that follow the hosts in ``[bus] readers``; ``CELL~HOST`` is one host of a cell, and
any other name is the cell of that name: its cell-conductors.
"""

import enum
from collections.abc import Collection
from typing import Final, NamedTuple

SEPARATOR: Final = "~"
BUS_USER: Final = "bus_user"  # sent with the context: the authenticated sender of a message


class Level(enum.Enum):
    """The part of a deployment that a user of a bus represents."""

    API = "API level"
    READER = "readers"
    CELL = "cell-conductors"
    HOST = "hosts"
    PEER = "processes with the receiver's user"
    UNKNOWN = "unauthenticated"


class MessageSender(NamedTuple):
    """The sender of a message.

    :ivar user: of the bus; None: the bus does not authenticate senders
    :ivar cell: the user of its cell, for a cell or a host; None: not limited to one cell
    :ivar host: None: not limited to one host
    """

    level: Level
    user: str | None
    cell: str | None = None
    host: str | None = None


OURSELVES: Final = MessageSender(Level.PEER, None)


class Callers:
    """Identifies senders by their users, from the view of a receiver.

    :param own: the receiver's own user; senders with the same have the receiver's rights
    :param api_users: those of the API level
    :param readers: those who may only read hosts and their changes
    """

    def __init__(
        self,
        own: str | None = None,
        api_users: Collection[str] = (),
        readers: Collection[str] = (),
    ) -> None:
        self.own = own
        self._listed = dict.fromkeys(readers, Level.READER) | dict.fromkeys(api_users, Level.API)

    @property
    def own_cell(self) -> str | None:
        """The user of the receiver's cell, if it is in one."""
        return None if self.own is None else self.own.partition(SEPARATOR)[0]

    def identify(self, user: str | None) -> MessageSender:
        """Return the sender that has a user."""
        if user == self.own:
            return MessageSender(Level.PEER, user)
        if user is None:
            return MessageSender(Level.UNKNOWN, user)
        if user in self._listed:
            return MessageSender(self._listed[user], user)
        cell, separator, host = user.partition(SEPARATOR)
        if separator:
            return MessageSender(Level.HOST, user, cell, host)
        return MessageSender(Level.CELL, user, cell)
