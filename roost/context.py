"""Who asks, in which request, and until when they care. Travels with every RPC message."""

import time
from typing import Any, Self

from oslo_context import context


class RequestContext(context.RequestContext):
    """An oslo.context that also carries a deadline.

    ``deadline`` is seconds since the epoch after which the caller has stopped waiting, or None.
    A message is acknowledged when it is received, so a server may meet a call whose caller has
    long given up; it looks here first.
    """

    def __init__(self, *, deadline: float | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.deadline = deadline

    def to_dict(self) -> dict[str, Any]:
        return {
            "user_id": self.user_id,
            "project_id": self.project_id,
            "roles": list(self.roles or ()),
            "is_admin": self.is_admin,
            "request_id": self.request_id,
            "global_request_id": self.global_request_id,
            "deadline": self.deadline,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any], **kwargs: Any) -> Self:
        known = ("user_id", "project_id", "roles", "is_admin", "request_id", "global_request_id")
        return cls(
            deadline=values.get("deadline"),
            overwrite=False,
            **{key: values.get(key) for key in known},
            **kwargs,
        )

    def until(self, seconds: float | None) -> "RequestContext":
        """Return a copy whose deadline is ``seconds`` from now, or which has none."""
        copy = self.from_dict(self.to_dict())
        copy.deadline = None if seconds is None else time.time() + seconds
        return copy

    @property
    def expired(self) -> bool:
        return self.deadline is not None and time.time() > self.deadline


def admin_context(request_id: str | None = None) -> RequestContext:
    """Return the context of a daemon's own work: sweepers, reports, periodic tasks."""
    return RequestContext(is_admin=True, roles=["admin"], request_id=request_id, overwrite=False)
