"""Any host that passes every filter, by chance: the yardstick for the others."""

import sys
from collections.abc import Sequence
from typing import Any, Self

from roost.scheduler.drivers.greedy import GreedyDriver
from roost.scheduler.engine import Engine
from roost.scheduler.filters import AnyFilter
from roost.scheduler.weighers import Weighing


class ChanceDriver(GreedyDriver):
    """Knows no better or worse."""

    @classmethod
    def from_options(
        cls,
        options: Any,  # noqa: ARG003 - the same for all drivers
        *,
        filters: Sequence[AnyFilter],
        weighers: Sequence[Weighing],  # noqa: ARG003
    ) -> Self:
        return cls(Engine(filters, (), best_of=sys.maxsize))
