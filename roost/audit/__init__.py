"""What must always be zero: things that the databases, buses and hypervisors disagree about.

Sweeps over what all parts say (:mod:`roost.audit.collector`), compares it
(:mod:`roost.audit.findings`), and looks at whatever seems wrong twice more, since a living
deployment changes while it is looked at. Used by roost-manage, the rig and the tests; changes
nothing, unless :mod:`roost.audit.executor` is asked to: ``repairs.py`` says what would mend what.
``snapshot.py`` is the schedulers' and cells' side of one look, ``restore.py`` what to do after a
database was put back from a backup.

May import ``cells``, ``db`` and below, and the scheduler's client.
"""

import dataclasses
import time
from collections.abc import Callable, Collection
from typing import Protocol

from roost.audit.collector import Collector, Suspects
from roost.audit.findings import KINDS, PLACEMENT, Finding, compare
from roost.audit.repairs import plan
from roost.audit.snapshot import Snapshot

__all__ = [
    "KINDS",
    "PLACEMENT",
    "Collector",
    "Finding",
    "Report",
    "Snapshot",
    "Suspects",
    "audit",
    "compare",
    "plan",
]


@dataclasses.dataclass(frozen=True)
class Report:
    """What an audit found of the ``kinds`` it looked for, and what it could not look at.

    ``snapshot``: what all parts said of what was found.
    """

    findings: list[Finding]
    unchecked: list[str]
    kinds: Collection[str] = KINDS
    snapshot: Snapshot = dataclasses.field(default_factory=Snapshot, repr=False)

    @property
    def counts(self) -> dict[str, int]:
        """How many findings there are of each kind."""
        found = [finding.kind for finding in self.findings]
        return {kind: found.count(kind) for kind in self.kinds}


class Looks(Protocol):
    """What an audit is made of: see :class:`Collector`."""

    def sweep(self) -> Suspects: ...

    def look(self, suspects: Suspects) -> Snapshot: ...


def audit(
    collector: Looks,
    *,
    settle: float = 3.0,
    kinds: Collection[str] = KINDS,
    sleep: Callable[[float], None] = time.sleep,
) -> Report:
    """Compare what all parts say; what is found must still be there a little later.

    :param settle: seconds between the two close looks; with 0 there is one only
    :param kinds: what to look for
    """
    suspects = collector.sweep()
    snapshot = collector.look(suspects)
    found = compare(snapshot, kinds=kinds)
    if found and settle:
        sleep(settle)
        before = {(finding.kind, finding.subject) for finding in found}
        named = suspects.uuids.intersection(finding.subject for finding in found)
        snapshot = collector.look(dataclasses.replace(suspects, uuids=named))
        again = compare(snapshot, kinds=kinds)
        found = [finding for finding in again if (finding.kind, finding.subject) in before]
    noted = [*suspects.unchecked, *snapshot.unchecked]
    unchecked = {line.partition(":")[0]: line for line in noted}  # why changes from look to look
    return Report(found, list(unchecked.values()), kinds, snapshot)
