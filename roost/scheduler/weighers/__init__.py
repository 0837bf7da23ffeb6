"""What makes a host better than another: the interface of weighers, each in its own module."""

from typing import NamedTuple, Protocol

from roost.scheduler.hosts import Floats, Hosts, Ints
from roost.scheduler.request import Request


class Weigher(Protocol):
    """Says how good hosts are."""

    name: str

    def weigh(self, request: Request, hosts: Hosts) -> Floats | Ints:
        """Return a raw weight per host, more is better; it is normalised and multiplied outside."""
        ...


class Weighing(NamedTuple):
    """A weigher and how much it counts; a negative multiplier turns it round."""

    weigher: Weigher
    multiplier: float
