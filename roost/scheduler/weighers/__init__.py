"""Base class of weighers, which rank hosts. Each module has the weighers of one subject.

``capacity.py`` weighs the free resources of a host, ``load.py`` its activity, ``metrics.py`` its
metrics, ``locality.py`` and ``server_groups.py`` its nearness. ``[scheduler] weighers`` and
``profile`` configure the weighers and their multipliers: ``scheduler/plugins.py`` loads them,
``ranking.py`` adds them up. Weighers keep no state and do no I/O, as filters.
"""

from collections.abc import Collection, Hashable
from typing import ClassVar, NamedTuple

from roost.scheduler.columns import Columns, Floats, Membership
from roost.scheduler.filters import ASK_AGAIN
from roost.scheduler.request import Request


class Weigher:
    """Gives weights to hosts.

    A weight is between 0 and 1 (or -1 and 0) and does not depend on which other hosts pass: so
    multipliers are comparable, and weights can be cached for later requests.
    """

    name: ClassVar[str]
    by_usage: ClassVar[bool] = False
    """Whether a host's weight depends on the instances there."""
    reads: Collection[str] = ()
    """The parts of hosts' reports that it reads, as :attr:`Filter.reads`."""

    def applies_to(self, request: Request) -> bool:
        """Return whether this weigher applies; called once per request."""
        return True

    def key(self, request: Request) -> Hashable:
        """Return the values of the request on which the weights depend, as :meth:`Filter.key`."""
        return ASK_AGAIN

    def weigh(self, request: Request, hosts: Columns) -> Floats:
        """Return a weight per host, more is better; the caller applies the multiplier."""
        raise NotImplementedError


class Weighing(NamedTuple):
    """A weigher and its multiplier; a negative one reverses its preference."""

    weigher: Weigher
    multiplier: float


def multiplier_of(weighing: Weighing, hosts: Columns) -> float | Floats:
    """Return the multiplier of a weigher, by host where aggregates override it.

    Aggregate metadata ``<name>_weight_multiplier`` overrides it; of several the smallest.
    """
    name = f"{weighing.weigher.name}_weight_multiplier"
    if not hosts.shared.says(name):
        return weighing.multiplier

    def multiplier(membership: Membership) -> float:
        found = membership.smallest(name)
        return weighing.multiplier if found is None else found

    return hosts.number_by_membership(multiplier)
