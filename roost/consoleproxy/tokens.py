"""Looks up console tokens in the API database, read-only."""

import dataclasses
from collections.abc import Callable, Collection

from roost.clock import boot_clock
from roost.db import clock
from roost.db.api import console_tokens
from roost.db.engine import Database
from roost.objects import consoles


@dataclasses.dataclass(frozen=True)
class ConsoleTarget:
    """The target of a token: a host's console listener. ``until`` is by this process's clock."""

    digest: str
    instance_uuid: str
    kind: str
    host: str
    port: int
    until: float


class Tokens:
    """Reads tokens.

    :param clock: monotonic seconds
    """

    def __init__(self, database: Database, *, clock: Callable[[], float] = boot_clock) -> None:
        self._database = database
        self._clock = clock

    def find(self, token: str) -> ConsoleTarget | None:
        """Return the target of a token; None: it is unknown, or has expired.

        :raises roost.exception.Unavailable: when the database is unavailable
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

    def missing(self, digests: Collection[str]) -> set[str]:
        """Return the digests whose tokens do not exist any more.

        :raises roost.exception.Unavailable: when the database is unavailable
        """
        if not digests:
            return set()
        return set(digests) - self._database.query(console_tokens.known, digests)
