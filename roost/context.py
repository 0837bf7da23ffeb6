"""The context of a request: caller, request id, deadline. Sent with every RPC message."""

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, ParamSpec, Self, TypeVar

from oslo_context import context

from roost import exception
from roost.callers import OURSELVES, MessageSender
from roost.clock import boot_clock

# The public attributes of a caller: for other daemons, notifications, logs.
_PUBLIC: Final = (
    "user_id",
    "user_name",
    "user_domain_id",
    "user_domain_name",
    "project_id",
    "project_name",
    "project_domain_id",
    "project_domain_name",
    "domain_id",
    "domain_name",
    "system_scope",
    "roles",
    "is_admin",
    "is_admin_project",
    "service_user_id",
    "service_project_id",
    "service_roles",
    "request_id",
    "global_request_id",
)
# Secret attributes, sent only to daemons that call other services for the caller.
_ENTRUSTED: Final = ("auth_token", "service_catalog")
# Attributes with an id that the log formats of oslo.log name without the suffix.
_IDENTITY: Final = ("user", "project", "domain", "user_domain", "project_domain")
# Sent even if empty, for daemons that expect them.
_ALWAYS: Final = ("user_id", "project_id", "roles", "is_admin", "request_id", "global_request_id")


class RequestContext(context.RequestContext):
    """An oslo.context that also carries a deadline, and a catalog.

    ``deadline`` is the moment after which the caller has stopped waiting, by this machine's
    ``boot_clock``, or None. A message is acknowledged when it is received, so a server may receive
    a call whose caller has long timed out; it checks the deadline first. Clocks of machines
    differ, so the seconds left are sent.

    ``auth_token`` and ``service_catalog`` (Keystone v3's list of services) let daemons call other
    services on behalf of the caller. :meth:`to_wire` sends them with the RPC methods that are
    declared to need them, and nowhere else: all other messages are sent :meth:`without_token`,
    and :meth:`to_dict` and all logs are without them, too.

    ``caller`` is the authenticated sender of the message that this context came with. It is not
    sent on.

    Making one does not change what the thread logs: see :func:`current`.
    """

    def __init__(
        self,
        *,
        deadline: float | None = None,
        service_catalog: Sequence[dict[str, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.deadline = deadline
        self.service_catalog = list(service_catalog or ())
        self.caller: MessageSender = OURSELVES

    def update_store(self) -> None:
        """Do nothing, where oslo.context would make this the current context for good."""

    def to_dict(self) -> dict[str, Any]:
        """Return the public attributes of the caller."""
        public = {name: getattr(self, name) for name in _PUBLIC}
        kept = {name: value for name, value in public.items() if value or name in _ALWAYS}
        if not self.is_admin_project:
            kept["is_admin_project"] = False
        return {**kept, "roles": list(self.roles or ())}

    def get_logging_values(self) -> dict[str, Any]:
        """Return the public attributes, also by the names in oslo.log's formats."""
        named = {name: getattr(self, f"{name}_id") for name in _IDENTITY}
        return super().get_logging_values() | named

    def to_wire(self) -> dict[str, Any]:
        """Return all values for :meth:`from_dict`, including the caller's secrets."""
        entrusted = {name: getattr(self, name) for name in _ENTRUSTED if getattr(self, name)}
        left = None if self.deadline is None else self.deadline - boot_clock()
        return self.to_dict() | entrusted | {"seconds_left": left}

    def to_policy_values(self) -> Any:
        """Return the attributes that rules may check: oslo.context's, and ``is_admin``."""
        values = super().to_policy_values()
        values["is_admin"] = self.is_admin
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any], **kwargs: Any) -> Self:
        """Make a context from received values.

        ``received_at``, by ``boot_clock``, is when they came: :meth:`stamp` sets it.

        :raises roost.exception.Invalid: when ``seconds_left`` is no number
        """
        known = {name: values[name] for name in (*_PUBLIC, *_ENTRUSTED) if name in values}
        left = _seconds(values.get("seconds_left"))
        received = values.get("received_at", boot_clock())
        deadline = None if left is None else received + left
        return cls(deadline=deadline, **known, **kwargs)

    @staticmethod
    def stamp(values: Any) -> None:
        """Record the time of receipt in received values: their deadline runs in the queue, too."""
        if isinstance(values, dict):
            values["received_at"] = boot_clock()

    def until(self, seconds: float | None, *, token: bool = True) -> "RequestContext":
        """Return a copy whose deadline is ``seconds`` from now, or which has none.

        :param token: whether it can be used to call other services for the caller
        """
        copy = self.from_dict(self.to_wire() if token else self.to_dict())
        copy.deadline = None if seconds is None else boot_clock() + seconds
        return copy

    def without_token(self) -> Self:
        """Return a copy that cannot be used to call other services for the caller."""
        copy = self.from_dict(self.to_dict())
        copy.deadline = self.deadline
        return copy

    @property
    def expired(self) -> bool:
        return self.deadline is not None and boot_clock() > self.deadline


def _seconds(value: Any) -> float | None:
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise exception.Invalid(f"seconds_left is no number: {value!r:.40}") from error


def admin_context(request_id: str | None = None) -> RequestContext:
    """Return the context of a daemon's own work: sweepers, reports, periodic tasks."""
    return RequestContext(is_admin=True, roles=["admin"], request_id=request_id)


def project_context(
    project_id: str, *, user_id: str | None = None, request_id: str | None = None
) -> RequestContext:
    """Return the context of a daemon that continues a project's work, without its user's token.

    It may do and see what any member of the project may, and nothing more.
    """
    return RequestContext(
        user_id=user_id,
        project_id=project_id,
        roles=["member", "reader"],
        request_id=request_id,
        is_admin=False,
    )


P = ParamSpec("P")
T = TypeVar("T")


def set_current(found: context.RequestContext | None) -> None:
    """Let oslo.log name this request in the lines of this thread; None: no request."""
    context._request_store.context = found  # noqa: SLF001 - oslo.context cannot clear it


@contextlib.contextmanager
def current(found: context.RequestContext | None) -> Iterator[None]:
    """Let the lines of this thread name a request until the block ends."""
    before = context.get_current()
    set_current(found)
    try:
        yield
    finally:
        set_current(before)


def carried(work: Callable[P, T]) -> Callable[P, T]:
    """Return ``work`` for another thread, whose lines name this thread's request meanwhile."""
    found = context.get_current()

    @functools.wraps(work)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        with current(found):
            return work(*args, **kwargs)

    return run
