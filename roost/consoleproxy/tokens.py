"""Where tokens lead, as the API database has it: one table, which is only read."""

import dataclasses
from collections.abc import Callable, Collection

from roost.clock import boot_clock
from roost.db import clock
from roost.db.api import console_tokens
from roost.db.engine import Database
from roost.objects import consoles


@dataclasses.dataclass(frozen=True)
class ConsoleTarget:
    """Where a token leads: a door of a host, until a moment by the clock of this process."""

    digest: str
    instance_uuid: str
    kind: str
    host: str
    port: int
    until: float


class Tokens:
    """Reads tokens.

    :param clock: seconds that only grow
    """

    def __init__(self, database: Database, *, clock: Callable[[], float] = boot_clock) -> None:
        self._database = database
        self._clock = clock

    def find(self, token: str) -> ConsoleTarget | None:
        """Return where a token leads; None: nowhere, or no longer.

        :raises roost.exception.Unavailable: when the database is away
        """
        if not consoles.looks_like_token(token):
            return None
        with self._database.read() as session:
            now = clock.now(session)
            found = console_tokens.find(session, consoles.digest(token), now=now)
        if found is None:
            return None
        return ConsoleTarget(
            digest=found.digest,
            instance_uuid=found.instance_uuid,
            kind=found.kind,
            host=found.host,
            port=found.port,
            until=self._clock() + (found.expires_at - now).total_seconds(),
        )

    def gone(self, digests: Collection[str]) -> set[str]:
        """Return those of some tokens that are no longer there.

        :raises roost.exception.Unavailable: when the database is away
        """
        if not digests:
            return set()
        with self._database.read() as session:
            return set(digests) - console_tokens.known(session, digests)
