"""What makes a host better than another: the base of weighers. A module has those of one subject.

``capacity.py`` weighs what is left on a host, ``load.py`` what goes on there, ``metrics.py`` what
it measures, ``locality.py`` and ``server_groups.py`` what it is near to. Which are in force, and
how much each counts, say ``[scheduler] weighers`` and ``profile``: ``scheduler/plugins.py`` finds
them, ``ranking.py`` adds them up. Weighers see values only, as filters do.
"""

from collections.abc import Hashable
from typing import ClassVar, NamedTuple

from roost.scheduler.columns import Columns, Floats, Membership
from roost.scheduler.filters import ASK_AGAIN
from roost.scheduler.request import Request


class Weigher:
    """Says how good hosts are.

    A weight is between 0 and 1 (or -1 and 0) and says the same of a host whoever else is there: so
    multipliers compare, and what was found for one request holds for the next.
    """

    name: ClassVar[str]
    by_usage: ClassVar[bool] = False
    """Whether a host's weight may change when instances come to it or go."""

    def applies_to(self, request: Request) -> bool:
        """Tell whether this weigher makes a difference; asked once per request."""
        return True

    def key(self, request: Request) -> Hashable:
        """Return what of the request the weights depend on, as :meth:`Filter.key`."""
        return ASK_AGAIN

    def weigh(self, request: Request, hosts: Columns) -> Floats:
        """Return a weight per host, more is better; the multiplier comes outside."""
        raise NotImplementedError


class Weighing(NamedTuple):
    """A weigher and how much it counts; a negative multiplier turns it round."""

    weigher: Weigher
    multiplier: float


def multiplier_of(weighing: Weighing, hosts: Columns) -> float | Floats:
    """Return how much a weigher counts, by host where aggregates have a say of their own.

    An aggregate's metadata ``<name>_weight_multiplier`` counts instead; of several the smallest.
    """
    name = f"{weighing.weigher.name}_weight_multiplier"
    if not hosts.shared.says(name):
        return weighing.multiplier

    def told(membership: Membership) -> float:
        found = membership.smallest(name)
        return weighing.multiplier if found is None else found

    return hosts.number_by_membership(told)
