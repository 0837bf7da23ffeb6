"""Build requests: requested instances that are not in a cell yet, and the leases on them.

Times of creation and of leases are by the clock of the API database. Lists of servers page through
build requests in the same order as through cells.
"""

import dataclasses
import datetime
import itertools
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import orjson
import sqlalchemy as sa

from roost import exception
from roost.db import clock, ordering, prepared, wire
from roost.db.api import models
from roost.db.engine import Session
from roost.db.instance_query import ListedInstance, Wanted, matches, values_of
from roost.db.types import as_json
from roost.objects import BuildRequest, RequestSpec

_requests = models.build_requests
_specs = models.request_specs
_mappings = models.instance_mappings
_INSERT_SPEC = sa.insert(_specs)
_INSERT_REQUESTS = sa.insert(_requests)
_INSERT_MAPPINGS = sa.insert(_mappings)
_SPEC = sa.select(_specs.c.spec).where(_specs.c.request_uuid == sa.bindparam("request_uuid"))
_SPEC_OF = (
    sa.select(_specs.c.spec)
    .join(_mappings, _mappings.c.request_uuid == _specs.c.request_uuid)
    .where(_mappings.c.instance_uuid == sa.bindparam("instance_uuid"))
)
_ASKED_FOR = (
    sa.select(_mappings.c.instance_uuid, _specs.c.zone_and_hints.label("shown"))
    .join(_specs, _specs.c.request_uuid == _mappings.c.request_uuid)
    .where(
        _mappings.c.instance_uuid.in_(sa.bindparam("instance_uuids", expanding=True)),
        _specs.c.zone_and_hints.is_not(None),
    )
)
_REQUESTS = _specs.c.request_uuid.in_(sa.bindparam("request_uuids", expanding=True))
_STILL_MAPPED = sa.select(_mappings.c.id).where(_mappings.c.request_uuid == _specs.c.request_uuid)
_FORGET_SPECS = sa.delete(_specs).where(_REQUESTS, ~_STILL_MAPPED.exists())
# In one order, against deadlocks.
_HOLD = (
    sa.select(_specs.c.request_uuid)
    .where(_REQUESTS)
    .order_by(_specs.c.request_uuid)
    .with_for_update()
)
_THESE = _requests.c.instance_uuid.in_(sa.bindparam("instance_uuids", expanding=True))
_OWNER = sa.bindparam("owner", type_=_requests.c.lease_owner.type)
_FREE = sa.or_(_requests.c.lease_until.is_(None), _requests.c.lease_until < sa.bindparam("now"))
_LEASE = (
    sa.update(_requests)
    .where(_THESE, _FREE)
    .values(lease_owner=_OWNER, lease_until=sa.bindparam("until"))
)
_MINE = (_THESE, _requests.c.lease_owner == _OWNER)
_LEASED = sa.select(_requests).where(*_MINE).order_by(_requests.c.id)
_AIM = sa.update(_requests).where(*_MINE).values(cell_uuid=sa.bindparam("target"))
_AIMED = sa.select(_requests.c.instance_uuid).where(*_MINE)
_PLAIN = tuple(name for name in BuildRequest.fields if name != "instance")


def create(session: Session, requests: Sequence[BuildRequest], *, spec: RequestSpec) -> None:
    """Insert the build requests of one POST, their common spec and their mappings."""
    session.execute(_INSERT_SPEC, _spec_row(spec))
    session.execute(_INSERT_REQUESTS, [_request_row(request) for request in requests])
    session.execute(_INSERT_MAPPINGS, [_mapping_row(request) for request in requests])


def find(session: Session, instance_uuid: str) -> BuildRequest | None:
    """Return the build request of this instance, if it still exists."""
    mine = {"instance_uuid": instance_uuid}
    row = prepared.select(session, *_requests.c, where=mine).one_or_none()
    return None if row is None else row_to_request(row)


def forget(session: Session, instance_uuid: str) -> bool:
    """Delete the build request; True for the one caller that deleted it."""
    return prepared.delete(session, _requests, {"instance_uuid": instance_uuid}) == 1


def fulfil(session: Session, instance_uuids: Collection[str], *, owner: str) -> int:
    """Delete those of these build requests that this lease holds; return how many."""
    held = {"instance_uuid": instance_uuids, "lease_owner": owner}
    return prepared.delete(session, _requests, held)


def take_away(session: Session, instance_uuid: str) -> tuple[bool, str | None]:
    """Delete the build request; return whether it was still there, and its target cell."""
    mine = {"instance_uuid": instance_uuid}
    found = prepared.select(session, _requests.c.cell_uuid, where=mine, lock=True).one_or_none()
    if found is None or not forget(session, instance_uuid):
        return False, None
    return True, found.cell_uuid


def holds(session: Session, instance_uuid: str, *, owner: str) -> bool:
    """Return whether this lease holds the build request, and lock it for this transaction."""
    held = {"instance_uuid": instance_uuid, "lease_owner": owner}
    return prepared.select(session, _requests.c.id, where=held, lock=True).first() is not None


def get_spec(session: Session, request_uuid: str) -> RequestSpec:
    """Return the request spec of one request.

    :raises roost.exception.NotFound: when there is no such request
    """
    spec = find_spec(session, request_uuid)
    if spec is None:
        raise exception.NotFound(f"there is no request spec {request_uuid}")
    return spec


def find_spec(session: Session, request_uuid: str) -> RequestSpec | None:
    spec: RequestSpec | None = wire.load(session.scalar(_SPEC, {"request_uuid": request_uuid}))
    return spec


def get_specs(session: Session, request_uuids: Collection[str]) -> dict[str, RequestSpec]:
    """Return the request specs of several requests, by request uuid."""
    named = {"request_uuid": request_uuids}
    rows = prepared.select(session, _specs.c.request_uuid, _specs.c.spec, where=named)
    return {row.request_uuid: wire.load(row.spec) for row in rows}


def spec_of(session: Session, instance_uuid: str) -> RequestSpec | None:
    """Return the request spec of an instance, as it was stored; None: there is none."""
    found = session.scalar(_SPEC_OF, {"instance_uuid": instance_uuid})
    spec: RequestSpec | None = wire.load(found)
    return spec


def hold_specs(session: Session, request_uuids: Collection[str]) -> None:
    """Lock specs, so that no other transaction deletes mappings of these requests meanwhile.

    Two that delete the last two at the same time would each see the other's and keep the spec.
    """
    session.execute(_HOLD, {"request_uuids": [*request_uuids]})


def forget_specs(session: Session, request_uuids: Collection[str]) -> None:
    """Delete the specs of requests of which no instance is mapped any more."""
    session.execute(_FORGET_SPECS, {"request_uuids": [*request_uuids]})


def pin(session: Session, instance_uuid: str, request_uuid: str, zone: str | None) -> bool:
    """Pin one instance to an availability zone, or unpin it; others of its request stay.

    It gets a copy of the request spec with the new zone. False: another call has given it another
    spec meanwhile.
    """
    hold_specs(session, [request_uuid])
    spec = get_spec(session, request_uuid)
    spec.request_uuid, spec.num_instances = str(uuid.uuid4()), 1
    spec.availability_zone = zone
    session.execute(_INSERT_SPEC, _spec_row(spec))
    moved = session.execute(
        sa.update(_mappings)
        .where(_mappings.c.instance_uuid == instance_uuid, _mappings.c.request_uuid == request_uuid)
        .values(request_uuid=spec.request_uuid)
    )
    forget_specs(session, [request_uuid if moved.rowcount == 1 else spec.request_uuid])
    return moved.rowcount == 1


def lease(
    session: Session,
    *,
    owner: str,
    seconds: float,
    instance_uuids: Sequence[str],
    now: datetime.datetime | None = None,
) -> list[BuildRequest]:
    """Lease those of these build requests that have no lease.

    :param owner: names this lease, not only the daemon, so it must be new each time
    :param now: by the clock of the database, where it is known
    """
    now = now or clock.now(session)
    until = now + datetime.timedelta(seconds=seconds)
    theirs = {"instance_uuids": [*instance_uuids], "owner": owner}
    session.execute(_LEASE, theirs | {"now": now, "until": until})
    rows = session.execute(_LEASED, theirs)
    return [row_to_request(row) for row in rows]


def target_cell(session: Session, cells: Mapping[str, str | None], *, owner: str) -> set[str]:
    """Record the target cell of each of these build requests that the lease still holds.

    :param cells: cell by instance; None: no target cell
    :returns: the instances whose target cell was recorded
    """
    aimed: set[str] = set()
    for cell_uuid in sorted({*cells.values()}, key=str):
        there = [uuid for uuid, cell in cells.items() if cell == cell_uuid]
        mine = {"instance_uuids": there, "owner": owner}
        recorded = session.execute(_AIM, mine | {"target": cell_uuid})
        if recorded.rowcount < len(there):  # some have another lease, or are deleted
            there = [*session.scalars(_AIMED, mine)]
        aimed.update(there)
    return aimed


def list_waiting(
    session: Session, *, older_than: datetime.timedelta, but_not_for: Collection[str] = ()
) -> list[BuildRequest]:
    """Return build requests of some age without a lease, those of one POST side by side.

    :param but_not_for: cells; build requests with one of these as target cell are left out
    """
    now = clock.now(session)
    cell = _requests.c.cell_uuid
    rows = session.execute(
        sa.select(_requests)
        .where(_FREE, _requests.c.created_at < now - older_than)
        .where(sa.or_(cell.is_(None), cell.not_in(but_not_for)))
        .order_by(_requests.c.request_uuid, _requests.c.id)
        .limit(1000),
        {"now": now},
    )
    return [row_to_request(row) for row in rows]


def hand_back(session: Session, owner: str, instance_uuids: Collection[str] | None = None) -> None:
    """End a lease early: another super-conductor can lease its build requests at once.

    :param instance_uuids: only of these
    """
    free = {"lease_owner": None, "lease_until": None}
    these = {} if instance_uuids is None else {"instance_uuid": instance_uuids}
    prepared.update(session, _requests, {"lease_owner": owner} | these, free)


def row_to_request(row: sa.Row[tuple[object, ...]]) -> BuildRequest:
    """Make the object of a whole row."""
    values = row._mapping  # noqa: SLF001 - SQLAlchemy's public name
    return BuildRequest.of(
        instance=wire.load(values["instance"]), **{name: values[name] for name in _PLAIN}
    )


def _request_row(request: BuildRequest) -> dict[str, object]:
    return {
        "instance_uuid": request.instance_uuid,
        "request_uuid": request.request_uuid,
        "request_id": request.request_id,
        "project_id": request.project_id,
        "user_id": request.user_id,
        "instance": wire.dump(request.instance),
        "created_at": request.created_at,
    }


def _mapping_row(request: BuildRequest) -> dict[str, object]:
    return {
        "instance_uuid": request.instance_uuid,
        "request_uuid": request.request_uuid,
        "project_id": request.project_id,
        "user_id": request.user_id,
        "vcpus": request.instance.flavor.vcpus,
        "memory_mb": request.instance.flavor.memory_mb,
        "queued_for_delete": False,
        "created_at": request.created_at,
    }


_COLUMNS: Final = {
    "created_at": _requests.c.created_at,
    "uuid": _requests.c.instance_uuid,
    "project_id": _requests.c.project_id,
    "user_id": _requests.c.user_id,
}


@dataclasses.dataclass(frozen=True)
class SchedulingDetails:
    """The parts of a request spec that a server shows: its pinned zone and its hints."""

    zone: str | None
    hints: Mapping[str, list[str]]


def list_page(
    session: Session, wanted: Wanted, *, after: Sequence[Any] | None = None, limit: int
) -> list[ListedInstance]:
    """Return the first ``limit`` build requests whose instances are wanted, in order.

    In the usual order, by age, it reads only as many rows as it needs; in any other order all of
    the project's, which are few: a build request lives for seconds.

    :param after: the values of the order's columns of the last instance of the page before
    """
    query = sa.select(_requests).where(*_conditions(wanted))
    if all(sort.name in _COLUMNS for sort in wanted.order):
        first = itertools.islice(_in_order(session, query, wanted, after), limit)
        return [_found(request, wanted) for request in first]
    found = [request for request in _rows(session, query) if matches(request.instance, wanted)]
    found.sort(key=lambda request: _rank(request, wanted))
    if after is not None:
        last = ordering.rank(after, wanted.order)
        found = [request for request in found if last < _rank(request, wanted)]
    return [_found(request, wanted) for request in found[:limit]]


def _conditions(wanted: Wanted) -> list[sa.ColumnElement[bool]]:
    return [_COLUMNS[name].in_(values) for name, values in wanted.equal.items() if name in _COLUMNS]


def _in_order(
    session: Session, query: sa.Select[Any], wanted: Wanted, after: Sequence[Any] | None
) -> Iterator[BuildRequest]:
    keys = [
        ordering.Key(ordering.binary(session, _COLUMNS[sort.name]), sort.descending, nullable=False)
        for sort in wanted.order
    ]
    if after is not None:
        query = query.where(ordering.after(keys, after))
    query = query.order_by(*[clause for key in keys for clause in key.order_by()])
    return (r for r in _rows(session, query) if matches(r.instance, wanted))


def _rows(session: Session, query: sa.Select[Any]) -> Iterator[BuildRequest]:
    for row in session.execute(query).yield_per(100):
        yield row_to_request(row)


def _found(request: BuildRequest, wanted: Wanted) -> ListedInstance:
    instance = request.instance
    return ListedInstance(
        request.instance_uuid, values_of(instance, wanted.order), lambda: instance
    )


def _rank(request: BuildRequest, wanted: Wanted) -> ordering.Ranked:
    return ordering.rank(values_of(request.instance, wanted.order), wanted.order)


def asked_for(session: Session, instance_uuids: Sequence[str]) -> dict[str, SchedulingDetails]:
    """Return the requested zone and hints of those of these instances that have any."""
    rows = session.execute(_ASKED_FOR, {"instance_uuids": [*instance_uuids]})
    return {row.instance_uuid: SchedulingDetails(**orjson.loads(row.shown)) for row in rows}


def _spec_row(spec: RequestSpec) -> dict[str, Any]:
    shown = {"zone": spec.availability_zone, "hints": spec.hints}
    return {
        "request_uuid": spec.request_uuid,
        "spec": wire.dump(spec),
        "zone_and_hints": as_json(shown) if any(shown.values()) else None,
    }
