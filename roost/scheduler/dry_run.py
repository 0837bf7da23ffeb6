"""Thinks requests through and claims nothing: for operators, before a boot or after one failed."""

import datetime
import threading
from collections.abc import Callable
from typing import Final

import numpy as np

from roost.db import engine as db_engine
from roost.db.engine import Session
from roost.db.scheduler import claims as claim_rows
from roost.db.scheduler import server_groups as group_rows
from roost.objects import Explanation, RankedHost, RequestSpec
from roost.scheduler import engine, explain
from roost.scheduler.books import selection
from roost.scheduler.decision import Decision
from roost.scheduler.drivers import Driver
from roost.scheduler.hosts import Hosts
from roost.scheduler.ranking import REFUSED
from roost.scheduler.request import Request, hinted_instances
from roost.scheduler.silence import Hearing, Silence
from roost.scheduler.table import HostTable

_RANKED: Final = 10  # hosts of which an explanation tells


class DryRuns:
    """Explains, on a table of hosts of its own: what is claimed meanwhile waits for nobody."""

    def __init__(
        self,
        database: db_engine.Database,
        *,
        driver: Driver,
        silence: Silence | None,
        hearing: Hearing | None,
        now: Callable[[], datetime.datetime],
    ) -> None:
        self._database = database
        self._driver = driver.twin()
        self._table = HostTable(silence=silence, hearing=hearing, now=now)
        self._turn = threading.Lock()

    def explain(self, spec: RequestSpec, *, instances: int) -> Explanation:
        """Return what would become of a request for so many new instances."""
        with self._turn:
            with self._database.read() as session:
                self._table.forget_look()
                self._table.refresh(session, ())
                request = self._request(session, spec, instances)
            return self._explained(request, self._table.hosts)

    def _explained(self, request: Request, hosts: Hosts) -> Explanation:
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
            verdicts=explain.verdicts(verdicts, hosts),
            ranked=ranked,
            chosen=chosen,
            sentence=None if chosen else _sentence(request, decision),
        )

    def _request(self, session: Session, spec: RequestSpec, instances: int) -> Request:
        held = claim_rows.find(session, hinted_instances(spec))
        members: dict[int, int] = {}
        if spec.group is not None:
            uuid = spec.group.uuid
            members = group_rows.members_by_host(session, [uuid])[uuid]
        return Request.of(
            spec,
            placed=[None] * instances,
            group_counts=self._table.by_row(members),
            rows_of=self._table.rows({uuid: claim.host_id for uuid, claim in held.items()}),
        )

    def _ranked(self, request: Request, hosts: Hosts) -> list[RankedHost]:
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
    return explain.sentence(decision.refusals, wanted=request.unplaced, fitting=decision.fitting)
