"""What must always be zero: things that the databases, buses and hypervisors disagree about.

Collects what all parts say (:mod:`roost.audit.snapshot`), compares it (:mod:`roost.audit.findings`)
and looks twice, since a living deployment changes while it is looked at. Used by roost-manage, the
rig and the tests; changes nothing.
"""

import dataclasses
import time
from collections.abc import Callable

from roost.audit.findings import KINDS, Finding, compare
from roost.audit.snapshot import Collector, Snapshot

__all__ = ["KINDS", "Collector", "Finding", "Report", "Snapshot", "audit", "compare"]


@dataclasses.dataclass(frozen=True)
class Report:
    """What an audit found, and what it could not look at."""

    findings: list[Finding]
    unchecked: list[str]

    @property
    def counts(self) -> dict[str, int]:
        """How many findings there are of each kind."""
        kinds = [finding.kind for finding in self.findings]
        return {kind: kinds.count(kind) for kind in KINDS}


def audit(
    collect: Callable[[], Snapshot],
    *,
    settle: float = 3.0,
    sleep: Callable[[float], None] = time.sleep,
) -> Report:
    """Compare what all parts say; what is found must still be there a little later.

    :param settle: seconds between the two looks; with 0 there is one look only
    """
    snapshot = collect()
    found = compare(snapshot)
    if found and settle:
        sleep(settle)
        snapshot = collect()
        before = {(finding.kind, finding.subject) for finding in found}
        found = [f for f in compare(snapshot) if (f.kind, f.subject) in before]
    return Report(found, snapshot.unchecked)
