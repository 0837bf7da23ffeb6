"""Explains to users and operators why no host was found, or which hosts would be chosen.

``DryRuns`` decides requests without claims: for operators, before a boot or after a failed one.
"""

import datetime
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from roost import exception
from roost.db import engine as db_engine
from roost.db.engine import Session
from roost.db.scheduler import claims as claim_rows
from roost.db.scheduler import server_groups as group_rows
from roost.objects import Explanation, FilterVerdict, NearMiss, RankedHost, ResourceRequest
from roost.scheduler import engine
from roost.scheduler.claim_transaction import selection
from roost.scheduler.drivers import Driver
from roost.scheduler.engine import Decision, Refusals, Verdict
from roost.scheduler.filters.requested import ANOTHER_CELL, EXCLUDED_CELL, IGNORED
from roost.scheduler.hosts import HostColumns
from roost.scheduler.liveness import LivenessTimeouts, ReceiveWindow
from roost.scheduler.ranking import REFUSED
from roost.scheduler.request import Request, hinted_instances
from roost.scheduler.table import HostTable

_NO_HOST: Final = "no host is known"
_NONE_LEFT: Final = "no host is available"
_UNTOLD: Final = frozenset({ANOTHER_CELL, EXCLUDED_CELL, IGNORED})


def no_valid_host(
    request: Request, decision: Decision, *, hosts: HostColumns
) -> exception.NoValidHost:
    """Make the error of a decision without hosts, with the verdict of every filter."""
    found = shown_verdicts(decision.verdicts, hosts)
    return exception.NoValidHost(
        sentence(decision.refusals, wanted=request.unplaced, fitting=decision.fitting),
        uncounted=uncounted(decision.refusals, wanted=request.unplaced),
        asked={verdict.filter: verdict.asked for verdict in found},
        refusals=decision.refusals,
        nearest={each.filter: each.nearest.values() for each in found if each.nearest},
    )


def shown_verdicts(found: Sequence[Verdict], hosts: HostColumns) -> list[FilterVerdict]:
    """Return verdicts as versioned objects."""
    return [
        FilterVerdict.of(
            filter=each.filter,
            asked=each.asked,
            reasons=each.reasons,
            nearest=_near_miss(each, hosts),
        )
        for each in found
    ]


def sentence(refusals: Refusals, *, wanted: int = 1, fitting: int = 0) -> str:
    """Return a sentence with all reasons, the commonest first.

    >>> sentence({"ram": {"not enough memory": 4}, "enabled": {"disabled": 2}})
    'No valid host was found. 4 hosts: not enough memory; 2: disabled'
    """
    room = f"There is room for {fitting} of {wanted}; " if fitting else ""
    return f"{exception.NO_VALID_HOST}{room}{_counted(refusals)}"


def uncounted(refusals: Refusals, *, wanted: int = 1) -> str:
    """Return the same sentence for users, without numbers of hosts or of fitting servers.

    Users know of no cells, nor which hosts are left out of their request.

    >>> uncounted({"ram": {"not enough memory": 4}, "enabled": {"disabled": 2}}, wanted=3)
    'No valid host was found. For all 3 servers: not enough memory; disabled'
    >>> uncounted({"requested": {"in another cell than requested": 4, "to be ignored": 1}})
    'No valid host was found. No host is available'
    """
    for_all = f"For all {wanted} servers: " if wanted > 1 else ""
    reasons = [reason for reason, _ in _by_frequency(refusals) if reason not in _UNTOLD]
    nothing = _NONE_LEFT if refusals else _NO_HOST
    text = f"{for_all}{'; '.join(reasons) or nothing}"
    return f"{exception.NO_VALID_HOST}{text[0].upper()}{text[1:]}"


def _near_miss(verdict: Verdict, hosts: HostColumns) -> NearMiss | None:
    if verdict.closest is None:
        return None
    row, lacks = verdict.closest
    return NearMiss.of(host=hosts.name("host", row), node=hosts.name("node", row), lacks=lacks)


def _counted(refusals: Refusals) -> str:
    ordered = _by_frequency(refusals)
    if not ordered:
        return _NO_HOST
    (reason, count), *others = ordered
    first = f"{count} {'host' if count == 1 else 'hosts'}: {reason}"
    return "; ".join([first, *(f"{count}: {reason}" for reason, count in others)])


def _by_frequency(refusals: Refusals) -> list[tuple[str, int]]:
    counts: Counter[str] = Counter()
    for reasons in refusals.values():
        counts.update(reasons)
    return counts.most_common()


_RANKED: Final = 10  # hosts in an explanation


class DryRuns:
    """Explains requests with a host table of its own, so that claims never wait for it."""

    def __init__(
        self,
        database: db_engine.Database,
        *,
        driver: Driver,
        silence: LivenessTimeouts | None,
        hearing: ReceiveWindow | None,
        now: Callable[[], datetime.datetime],
    ) -> None:
        self._database = database
        self._driver = driver.twin()
        self._table = HostTable(silence=silence, hearing=hearing, now=now)
        self._lock = threading.Lock()

    def explain(self, spec: ResourceRequest, *, instances: int) -> Explanation:
        """Return the decision that a request for this many new instances would get."""
        with self._lock:
            with self._database.read() as session:
                self._table.forget_look()
                self._table.refresh(session, ())
                request = self._request(session, spec, instances)
            return self._explained(request, self._table.hosts)

    def _explained(self, request: Request, hosts: HostColumns) -> Explanation:
        judge = self._driver.engine
        verdicts = judge.judge(request, hosts)
        ranked = self._ranked(request, hosts)
        decision = self._driver.decide(request, hosts)
        chosen = [selection(hosts, place.row, claimed=place) for place in decision.chosen]
        engine.undo(request, hosts, decision.chosen)
        return Explanation.of(
            wanted=request.unplaced,
            fitting=decision.fitting,
            hosts=len(hosts),
            verdicts=shown_verdicts(verdicts, hosts),
            ranked=ranked,
            chosen=chosen,
            sentence=None if chosen else _sentence(request, decision),
        )

    def _request(self, session: Session, spec: ResourceRequest, instances: int) -> Request:
        held = claim_rows.find(session, hinted_instances(spec))
        members: dict[int, int] = {}
        if spec.group is not None:
            uuid = spec.group.uuid
            members = group_rows.members_by_host(session, [uuid])[uuid]
        return Request.of(
            spec,
            placed=[None] * instances,
            group_counts=self._table.by_row(members),
            rows_of=self._table.rows_of(held),
        )

    def _ranked(self, request: Request, hosts: HostColumns) -> list[RankedHost]:
        scores, parts = self._driver.engine.scores(request, hosts)
        best = np.argsort(-scores, kind="stable")[:_RANKED].tolist()
        return [
            RankedHost.of(
                host=hosts.name("host", row),
                node=hosts.name("node", row),
                cell_uuid=hosts.name("cell", row),
                score=float(scores[row]),
                weights={name: float(part[row]) for name, part in parts.items()},
            )
            for row in best
            if scores[row] != REFUSED
        ]


def _sentence(request: Request, decision: Decision) -> str:
    return sentence(decision.refusals, wanted=request.unplaced, fitting=decision.fitting)
