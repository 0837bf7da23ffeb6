"""The exceptions of Roost, for every layer.

A kind answers one question: who must act, and how? Each has a stable ``code`` that clients and
daemons may match, a ``message`` for the user and ``details`` for the log. They cross the bus whole
(oslo.messaging rebuilds them from ``args`` and ``kwargs``). Only ``api/faults.py`` knows HTTP.

Subclass a kind only where some code catches the subclass.
"""

import re
from collections.abc import Iterator
from typing import Any, ClassVar, Final, TypeVar

E = TypeVar("E", bound=Exception)

_UNREACHABLE: Final = "A part of the cloud could not be reached."
_FAILED: Final = "Something failed on the host of the server."


class RoostError(Exception):
    """Base of all kinds; raised itself only by mistake.

    ``for_users``: when it ends a task of a server on a host, the message is about input that the
    user can correct, and is shown to them. All other messages may name hosts, their paths and
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
        """Additional data for the log; plain JSON values."""
        return self.kwargs


class NotFound(RoostError):
    """The resource does not exist, or the caller may not see it."""

    code = "not_found"
    for_users = True


class Conflict(RoostError):
    """The resource is not in the state that the request expects."""

    code = "conflict"
    for_users = True


class AddressInUse(Conflict):
    """The requested address belongs to another instance."""

    code = "address_in_use"


class Invalid(RoostError):
    """The request is invalid: a value is missing, malformed or contradictory."""

    code = "invalid"
    for_users = True


class Forbidden(RoostError):
    """The caller may not do this."""

    code = "forbidden"
    for_users = True


class Unauthenticated(RoostError):
    """The caller is not authenticated."""

    code = "unauthenticated"


class QuotaExceeded(RoostError):
    """The project's limit would be exceeded; details name resource, used, asked and limit."""

    code = "quota_exceeded"
    for_users = True


class NoCapacity(RoostError):
    """There is no capacity for the request, here or anywhere."""

    code = "no_capacity"


NO_VALID_HOST: Final = "No valid host was found. "  # clients match it; the reasons follow


class NoValidHost(NoCapacity):
    """The scheduler refused every host; the message counts them.

    ``details`` say why, in the order of the filters: ``asked`` (how many hosts the filter checked),
    ``refusals`` (how many it refused, by reason) and, where it is known, ``nearest`` (the host and
    node that came closest, and what it ``lacks``).
    """

    code = "no_valid_host"

    @property
    def uncounted(self) -> str:
        """The message without numbers, which would reveal the size and usage of the cloud."""
        return str(self.details.get("uncounted", self.message))


class Unavailable(RoostError):
    """A database, bus or peer cannot be reached now; the same request may succeed later."""

    code = "unavailable"


class Deadlock(Unavailable):
    """The database ended this transaction so that another could go on; it may be run again."""

    code = "deadlock"


class Lost(Unavailable):
    """The connection broke in the middle of a transaction; whether it was committed is not known.

    It may be run again: all steps are idempotent.
    """

    code = "lost"


class ReadOnly(Lost):
    """The server accepts no writes: another one is the primary now. Nothing was done.

    The connection is closed, and the next one may reach the new primary.
    """

    code = "read_only"


class Unfinished(Unavailable):
    """The database answers, but a statement had no time, space or privilege; nothing was done."""

    code = "unfinished"


class Full(Unavailable):
    """The database accepts no more connections now; nothing was done; retry soon."""

    code = "full"


class Away(Unavailable):
    """The peer is known to be unavailable: nothing was sent, an immediate retry is useless."""

    code = "away"


class Silent(Away):
    """A host does not answer, or did not answer other calls a moment ago.

    ``for_users``: the message is for users, and names no machine.
    """

    code = "silent"

    def __init__(self, message: str = "", *, for_users: bool = False, **details: Any) -> None:
        super().__init__(message, for_users=for_users, **details)
        self.for_users = for_users


class Timeout(Unavailable):
    """A peer did not answer in time; whether it acted is not known."""

    code = "timeout"


class VersionTooOld(RoostError):
    """The peer does not know this method, argument or object version yet."""

    code = "version_too_old"


class Unsupported(RoostError):
    """The backend, such as the hypervisor, does not support this."""

    code = "unsupported"
    for_users = True


class Internal(RoostError):
    """Roost's own code has violated an invariant."""

    code = "internal"


class BuildFailed(RoostError):
    """A build failed on its host; ``reschedulable`` says whether another host may succeed.

    If none can, the user's request is the cause, so the message is for users. ``user_reason``: the
    message for users about a reschedulable failure, if all hosts fail.
    """

    code = "build_failed"

    def __init__(
        self,
        message: str = "",
        *,
        reschedulable: bool = True,
        user_reason: str | None = None,
        **details: Any,
    ) -> None:
        super().__init__(message, reschedulable=reschedulable, user_reason=user_reason, **details)
        self.reschedulable = reschedulable
        self.user_reason = user_reason
        self.for_users = not reschedulable


def of_code(code: str | None, message: str) -> RoostError:
    """Return the error of a code, which was stored with its message."""
    return _BY_CODE.get(code or "", Internal)(message)


def _kinds(kind: type[RoostError]) -> Iterator[type[RoostError]]:
    yield kind
    for derived in kind.__subclasses__():
        yield from _kinds(derived)


_BY_CODE: Final = {kind.code: kind for kind in _kinds(RoostError)}
_PATH: Final = re.compile(r"(?<![\w/.:-])/[\w.+-]+/")  # not within a URL or a CIDR
_REFUSED: Final = "The host of this server refused the request."


def without_host(error: E, host: str) -> E | RoostError:
    """Return an error of a host, without its message if that has the host's name or paths.

    Messages of Roost's hosts that users can act on contain neither; those of Neutron may.
    """
    if not isinstance(error, RoostError):
        return error
    name = rf"(?<![\w.-]){re.escape(host)}(?![\w-])"
    if re.search(name, error.message) or _PATH.search(error.message):
        return type(error)(_REFUSED)
    return error


def reason(error: Exception) -> str:
    """Return the reason for users: the message if it is for them, else a generic one."""
    if isinstance(error, BuildFailed) and error.user_reason:
        return error.user_reason
    if isinstance(error, RoostError) and error.for_users and error.message:
        return error.message
    return _UNREACHABLE if isinstance(error, Unavailable) else _FAILED


def details(error: Exception) -> str:
    """Return the reason for administrators: the message, or class and text of other exceptions.

    Only the log has addresses of databases and buses, and tracebacks from other daemons.
    """
    if isinstance(error, Unavailable) and not isinstance(error, Timeout):
        return _UNREACHABLE
    if isinstance(error, RoostError) and error.message:
        return error.message
    return f"{type(error).__name__}: {error}".partition("\n")[0]
