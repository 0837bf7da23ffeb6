"""What comes out of deciding: places, or why there are none."""

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple

from roost.scheduler.filters import Miss
from roost.scheduler.topology import Held

Refusals = dict[str, dict[str, int]]
"""How many hosts were refused, by filter and reason; each host counts once."""


class Placement(NamedTuple):
    """The row of an instance's host, and the CPUs and devices that it holds there, if any."""

    row: int
    held: Held | None = None


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What one filter did to the ``asked`` hosts that came to it, and who came closest."""

    filter: str
    asked: int
    reasons: dict[str, int]
    closest: Miss | None = None


@dataclasses.dataclass(frozen=True)
class Decision:
    """A place per instance, in the order asked, and alternates in its cell, the best first.

    When there is not room for all, ``chosen`` is empty, ``fitting`` says how many of the instances
    without a host would have found one, and ``verdicts`` why no other would.
    """

    chosen: Sequence[Placement]
    alternates: Sequence[Sequence[int]]
    verdicts: Sequence[Verdict] = ()
    fitting: int = 0

    @property
    def refusals(self) -> Refusals:
        return {verdict.filter: verdict.reasons for verdict in self.verdicts if verdict.reasons}
