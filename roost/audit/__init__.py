"""The audit: finds differences between the databases, schedulers and hypervisors.

It reads the state of all parts (:mod:`roost.audit.collector`), compares it
(:mod:`roost.audit.findings`), and checks each suspect twice more, since a running deployment
changes meanwhile. Used by roost-manage, the rig and the tests. It changes nothing;
:mod:`roost.audit.executor` carries out the repairs that ``repairs.py`` plans. ``snapshot.py`` has
the data of one check.

May import ``cells``, ``db`` and below, and the scheduler's client.
"""

import dataclasses
import time
from collections.abc import Callable

from roost.audit.collector import Collector, Suspects
from roost.audit.findings import KINDS, Finding, compare
from roost.audit.repairs import plan
from roost.audit.snapshot import Snapshot

__all__ = [
    "KINDS",
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
    """The findings of an audit, and the parts that it could not check.

    ``snapshot``: the states behind the findings.
    """

    findings: list[Finding]
    unchecked: list[str]
    snapshot: Snapshot = dataclasses.field(default_factory=Snapshot, repr=False)

    @property
    def counts(self) -> dict[str, int]:
        """The number of findings of each kind."""
        found = [finding.kind for finding in self.findings]
        return {kind: found.count(kind) for kind in KINDS}


def audit(
    collector: Collector, *, settle: float = 3.0, sleep: Callable[[float], None] = time.sleep
) -> Report:
    """Compare the states of all parts; a finding must persist over two checks.

    :param settle: seconds between the two checks; 0: only one check
    """
    suspects = collector.sweep()
    snapshot = collector.look(suspects)
    found = compare(snapshot)
    if found and settle:
        sleep(settle)
        before = {(finding.kind, finding.subject) for finding in found}
        named = suspects.uuids.intersection(finding.subject for finding in found)
        snapshot = collector.look(dataclasses.replace(suspects, uuids=named))
        again = compare(snapshot)
        found = [finding for finding in again if (finding.kind, finding.subject) in before]
    noted = [*suspects.unchecked, *snapshot.unchecked]
    unchecked = {line.partition(":")[0]: line for line in noted}  # reasons differ between checks
    return Report(found, list(unchecked.values()), snapshot)
