"""From a request to claims: decide in memory, commit on condition, decide again when that fails.

The decision stands on what this process remembers of the hosts; the commit checks it against the
database. So any number of schedulers may run, and none gives away what is not there.
"""

import dataclasses
import datetime
import logging
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final, TypeVar

from roost import exception
from roost.db import engine as db_engine
from roost.db.scheduler import claims as claim_rows
from roost.db.scheduler import hosts as host_rows
from roost.db.scheduler.claims import Claim, ClaimMoved, HostFull
from roost.db.types import utcnow
from roost.objects import RequestSpec, Selection
from roost.scheduler import explain
from roost.scheduler.drivers import Driver
from roost.scheduler.engine import Decision
from roost.scheduler.hosts import HostTable
from roost.scheduler.request import Request, asked_by, rules_out

LOG = logging.getLogger(__name__)
R = TypeVar("R")
TRIES: Final = 10  # each lost race means that another scheduler placed something


class Claims:
    """Gives, moves and takes claims.

    :param table: the hosts in memory, of which this is the only user that decides
    :param host_silence: seconds after its last report at which a host gets nothing new
    """

    def __init__(
        self,
        database: db_engine.Database,
        *,
        driver: Driver,
        table: HostTable,
        host_silence: float,
        clock: Callable[[], datetime.datetime] = utcnow,
    ) -> None:
        self._database = database
        self._driver = driver
        self._table = table
        self._silence = datetime.timedelta(seconds=host_silence)
        self._clock = clock
        self._deciding = threading.Lock()  # decisions of one process are taken one after another

    def alive_since(self) -> datetime.datetime:
        """Return the time that a host's last report must not be older than."""
        return self._clock() - self._silence

    def select(
        self, spec: RequestSpec, instance_uuids: Sequence[str], *, alternates: int
    ) -> list[list[Selection]]:
        """Claim a host for each instance, all or none; see :mod:`roost.rpc.scheduler`.

        :raises roost.exception.NoValidHost: with the reasons
        :raises roost.exception.Unavailable: when other schedulers were faster every time
        """
        unique = tuple(dict.fromkeys(instance_uuids))
        question = _Question(spec, unique, alternates)
        with self._deciding:
            found = self._settled(lambda: self._select(question), ClaimMoved, HostFull)
        by_instance = dict(zip(unique, found, strict=True))
        return [by_instance[uuid] for uuid in instance_uuids]

    def move(self, instance_uuid: str, spec: RequestSpec, *, to: Selection) -> None:
        """Give the instance a claim on ``to`` instead of the one it has, if it has one.

        :raises roost.exception.NoCapacity: when ``to`` cannot take it; nothing is changed then
        """
        try:
            changed = self._settled(lambda: self._move(instance_uuid, spec, to), ClaimMoved)
        except HostFull as error:
            raise exception.NoCapacity(
                f"{to.host} cannot take {instance_uuid}: {error.message}"
            ) from error
        self._table.mark(changed)

    def release(self, instance_uuids: Sequence[str], *, host: str | None = None) -> None:
        """Let go of what these instances hold (on ``host``, if one is named)."""
        self._table.mark(self._settled(lambda: self._release(instance_uuids, host), ClaimMoved))

    def _settled(self, step: Callable[[], R], *races: type[Exception]) -> R:
        """Do a step, and do it again from a fresh look when it lost one of these ``races``."""
        for _ in range(TRIES):
            try:
                return db_engine.retried(step)()
            except races as error:
                LOG.debug("another scheduler was faster: %s", error)
                self._table.forget_look()
        raise exception.Unavailable(f"other schedulers were faster, {TRIES} times")

    def _select(self, question: "_Question") -> list[list[Selection]]:
        stale = self._table.stale()
        with self._database.begin() as session:
            held = claim_rows.find(session, question.instance_uuids)
            self._table.refresh(session, stale)
            decision = self._decide(session, question, held)
            gained = self._gained(question, decision, held)
            changes = claim_rows.exchange(
                session,
                gained=gained,
                lost=[held[claim.instance_uuid] for claim in gained if claim.instance_uuid in held],
                guards=self._driver.guards,
                now=self._clock(),
            )
        self._table.apply(changes)
        selections = [self._selections(rows) for rows in decision.hosts]
        for uuid, (chosen, *_) in zip(question.instance_uuids, selections, strict=True):
            LOG.info(
                "%s: placed on %s for request %s", uuid, chosen.host, question.spec.request_uuid
            )
        return selections

    def _decide(
        self, session: db_engine.Session, question: "_Question", held: Mapping[str, Claim]
    ) -> Decision:
        """Decide; before saying no, look whether something has changed."""
        if any(self._table.row(claim.host_id) is None for claim in held.values()):
            self._table.look(session)
        request = self._request(question, held)
        decision = self._driver.decide(request, self._table.hosts)
        if _refused(request, decision) and self._table.look(session):
            request = self._request(question, held)
            decision = self._driver.decide(request, self._table.hosts)
        if _refused(request, decision):
            raise explain.no_valid_host(request, decision)
        return decision

    def _request(self, question: "_Question", held: Mapping[str, Claim]) -> Request:
        return Request.of(
            question.spec,
            placed=[self._kept(held.get(uuid), question.spec) for uuid in question.instance_uuids],
            alternates=question.alternates,
            alive_since=self.alive_since().timestamp(),
        )

    def _kept(self, claim: Claim | None, spec: RequestSpec) -> int | None:
        """Return the row of the host that an instance holds and keeps, or None."""
        row = None if claim is None else self._table.row(claim.host_id)
        if row is None:
            return None
        hosts = self._table.hosts
        unwanted = rules_out(spec, host=hosts.name("host", row), node=hosts.name("node", row))
        return None if unwanted else row

    def _gained(
        self, question: "_Question", decision: Decision, held: Mapping[str, Claim]
    ) -> list[Claim]:
        gained = []
        for uuid, (row, *_) in zip(question.instance_uuids, decision.hosts, strict=True):
            host_id = int(self._table.hosts.ids[row])
            if uuid not in held or held[uuid].host_id != host_id:
                gained.append(_claim(uuid, host_id, question.spec))
        return gained

    def _selections(self, rows: Sequence[int]) -> list[Selection]:
        hosts = self._table.hosts
        return [
            Selection.of(
                host=hosts.name("host", row),
                node=hosts.name("node", row),
                cell_uuid=hosts.name("cell", row),
                availability_zone=hosts.name("zone", row),
                claimed=position == 0,
            )
            for position, row in enumerate(rows)
        ]

    def _move(self, instance_uuid: str, spec: RequestSpec, to: Selection) -> Collection[int]:
        with self._database.begin() as session:
            target = host_rows.find(session, to.host, to.node)
            if target is None or target.reported_at < self.alive_since():
                raise HostFull("it has not been heard of lately")
            held = claim_rows.find(session, [instance_uuid])
            if instance_uuid in held and held[instance_uuid].host_id == target.id:
                return ()
            return claim_rows.exchange(
                session,
                gained=[_claim(instance_uuid, target.id, spec)],
                lost=list(held.values()),
                guards=self._driver.guards,
                now=self._clock(),
            )

    def _release(self, instance_uuids: Sequence[str], host: str | None) -> Collection[int]:
        with self._database.begin() as session:
            held = claim_rows.find(session, instance_uuids, host=host)
            return claim_rows.exchange(session, lost=list(held.values()), now=self._clock())


@dataclasses.dataclass(frozen=True)
class _Question:
    """What a select_destinations asks, with each instance once."""

    spec: RequestSpec
    instance_uuids: tuple[str, ...]
    alternates: int


def _refused(request: Request, decision: Decision) -> bool:
    return len(decision.hosts) < len(request.placed)


def _claim(instance_uuid: str, host_id: int, spec: RequestSpec) -> Claim:
    return Claim(
        instance_uuid=instance_uuid,
        host_id=host_id,
        request_uuid=spec.request_uuid,
        project_id=spec.project_id,
        sizes=asked_by(spec),
    )
