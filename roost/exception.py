"""The kinds of failure that Roost knows, for every floor.

A kind answers one question: who must act, and how? Each has a stable ``code`` that clients and
daemons may match, a ``message`` for the user and ``details`` for the log. They cross the bus whole
(oslo.messaging rebuilds them from ``args`` and ``kwargs``). Only ``api/faults.py`` knows HTTP.

Subclass a kind only where somebody catches the subclass.
"""

from typing import Any, ClassVar, Final

_UNREACHABLE: Final = "A part of the cloud could not be reached."
_FAILED: Final = "Something failed on the host of the server."


class RoostError(Exception):
    """Base of all kinds; raised itself only by mistake.

    ``for_users``: when it ends what a host does for a server, the message is about what its user
    said and can mend, and they read it. All other messages may name hosts, their paths and
    addresses: those are for administrators.
    """

    code: ClassVar[str] = "internal"
    for_users: bool = False

    def __init__(self, message: str = "", **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.kwargs = details

    @property
    def details(self) -> dict[str, Any]:
        """What the log should know beyond the message; plain JSON values."""
        return self.kwargs


class NotFound(RoostError):
    """The named thing does not exist, or not for this caller."""

    code = "not_found"
    for_users = True


class Conflict(RoostError):
    """The thing is not in the state that the request expects."""

    code = "conflict"
    for_users = True


class AddressInUse(Conflict):
    """The address that was asked for belongs to another instance."""

    code = "address_in_use"


class Invalid(RoostError):
    """The request cannot be meant: a value is missing, malformed or contradictory."""

    code = "invalid"
    for_users = True


class Forbidden(RoostError):
    """The caller may not do this."""

    code = "forbidden"
    for_users = True


class Unauthenticated(RoostError):
    """Nobody knows who the caller is."""

    code = "unauthenticated"


class QuotaExceeded(RoostError):
    """The project's limit would be passed; details name resource, used, asked and limit."""

    code = "quota_exceeded"
    for_users = True


class NoCapacity(RoostError):
    """There is no room for what was asked, here or anywhere."""

    code = "no_capacity"


NO_VALID_HOST: Final = "No valid host was found. "  # clients match it; the reasons follow


class NoValidHost(NoCapacity):
    """The scheduler refused every host; the message counts them.

    ``details`` say why, by filter and in their order: ``asked`` (how many hosts came to it),
    ``refusals`` (how many it refused, by reason) and, where it can tell, ``nearest`` (the host and
    node that came closest, and what it ``lacks``).
    """

    code = "no_valid_host"

    @property
    def uncounted(self) -> str:
        """The same message without numbers, which tell how large a cloud is and how full."""
        return str(self.details.get("uncounted", self.message))


class Unavailable(RoostError):
    """A database, bus or peer cannot be reached now; the same request may do later."""

    code = "unavailable"


class Deadlock(Unavailable):
    """The database ended this transaction so that another could go on; it may be run again."""

    code = "deadlock"


class Lost(Unavailable):
    """The connection broke in the middle of a transaction; whether it was committed is not known.

    It may be run again: steps bear that.
    """

    code = "lost"


class ReadOnly(Lost):
    """The server takes no writes: another one is the primary now. Nothing was done.

    The connection is given up, and the next one may lead to the new primary.
    """

    code = "read_only"


class Unfinished(Unavailable):
    """The database is there, but had no time or no room for a statement; nothing was done."""

    code = "unfinished"


class Full(Unavailable):
    """The database takes no more connections now; nothing was done, and soon one may be free."""

    code = "full"


class Away(Unavailable):
    """It is known to be away, so nobody tried: nothing was done, and trying again is useless."""

    code = "away"


class Silent(Away):
    """A host gives no answer, or gave others none a moment ago.

    ``for_users``: the message is theirs, and names no machine.
    """

    code = "silent"

    def __init__(self, message: str = "", *, for_users: bool = False, **details: Any) -> None:
        super().__init__(message, for_users=for_users, **details)
        self.for_users = for_users


class TooMany(RoostError):
    """One caller asks for too much at the same time; later it may do."""

    code = "too_many"


class Timeout(Unavailable):
    """A peer did not answer in time; whether it acted is not known."""

    code = "timeout"


class VersionTooOld(RoostError):
    """The peer does not know this method, argument or object version yet."""

    code = "version_too_old"


class Unsupported(RoostError):
    """What stands behind the thing (its hypervisor, say) cannot do this at all."""

    code = "unsupported"
    for_users = True


class Internal(RoostError):
    """A promise of our own code was broken."""

    code = "internal"


class BuildFailed(RoostError):
    """A build failed on its host; ``reschedulable`` says whether another host may do.

    What no host would cure is what its user asked for, so that is for users. ``told``: what they
    read of what another host may cure, if no host does.
    """

    code = "build_failed"

    def __init__(
        self,
        message: str = "",
        *,
        reschedulable: bool = True,
        told: str | None = None,
        **details: Any,
    ) -> None:
        super().__init__(message, reschedulable=reschedulable, told=told, **details)
        self.reschedulable = reschedulable
        self.told = told
        self.for_users = not reschedulable


def reason(error: Exception) -> str:
    """Say to users why something failed: what they can mend in its words, else that it did."""
    if isinstance(error, BuildFailed) and error.told:
        return error.told
    if isinstance(error, RoostError) and error.for_users and error.message:
        return error.message
    return _UNREACHABLE if isinstance(error, Unavailable) else _FAILED


def details(error: Exception) -> str:
    """Say to administrators why something failed: our own kinds in their words, or the class.

    Addresses of databases and buses are in the log alone, as are tracebacks from other daemons.
    """
    if isinstance(error, Unavailable) and not isinstance(error, Timeout):
        return _UNREACHABLE
    if isinstance(error, RoostError) and error.message:
        return error.message
    return f"{type(error).__name__}: {error}".partition("\n")[0]
