"""What a host must pass: the interface of filters, each in its own module.

A filter answers for all hosts at once and says why not. It sees values only and keeps nothing
between two questions.
"""

from typing import NamedTuple, Protocol

from roost.scheduler.hosts import Hosts, Mask
from roost.scheduler.request import Request


class Refusal(NamedTuple):
    """A reason, in words that users understand, and the hosts that it rules out."""

    reason: str
    hosts: Mask


class Filter(Protocol):
    """Rules hosts out."""

    name: str
    guards: tuple[str, ...]
    """What the commit of a decision must check again, for decisions are made on what may have
    changed: ``enabled`` or resources; empty for what does not change under way."""

    def applies_to(self, request: Request) -> bool:
        """Tell whether this filter has anything to say; asked once per request."""
        ...

    def refuse(self, request: Request, hosts: Hosts) -> list[Refusal]:
        """Return whom to refuse and why; a host with several reasons counts under the first.

        Asked again, with what it then has in use, for a host that got an instance of the request.
        """
        ...
