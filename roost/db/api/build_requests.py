"""Build requests: instances that were asked for and are not in a cell yet, and who works on them.

When they were made, and until when somebody works on them, is by the clock of the API database.
Lists of servers page through them in the same order as through cells.
"""

import dataclasses
import datetime
import itertools
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from roost import exception
from roost.db import clock, ordering, wire
from roost.db.api import models
from roost.db.engine import Session
from roost.db.instance_query import ListedInstance, Wanted, matches, values_of
from roost.objects import BuildRequest, RequestSpec

_requests = models.build_requests
_specs = models.request_specs
_mappings = models.instance_mappings
_PLAIN = tuple(name for name in BuildRequest.fields if name != "instance")


def create(session: Session, requests: Sequence[BuildRequest], *, spec: RequestSpec) -> None:
    """Insert the wishes of one POST, their common spec and their mappings."""
    session.execute(sa.insert(_specs).values(request_uuid=spec.request_uuid, spec=wire.dump(spec)))
    session.execute(sa.insert(_requests), [_request_row(request) for request in requests])
    session.execute(sa.insert(_mappings), [_mapping_row(request) for request in requests])


def find(session: Session, instance_uuid: str) -> BuildRequest | None:
    """Return the wish for this instance, while it is one."""
    row = session.execute(
        sa.select(_requests).where(_requests.c.instance_uuid == instance_uuid)
    ).one_or_none()
    return None if row is None else row_to_request(row)


def forget(session: Session, instance_uuid: str, *, owner: str | None = None) -> bool:
    """Delete the wish; tell whether it was still there: only one can be told so.

    :param owner: only if this lease holds it
    """
    mine = [] if owner is None else [_requests.c.lease_owner == owner]
    gone = session.execute(
        sa.delete(_requests).where(_requests.c.instance_uuid == instance_uuid, *mine)
    )
    return gone.rowcount == 1


def take_away(session: Session, instance_uuid: str) -> tuple[bool, str | None]:
    """Delete the wish; tell whether it was still there, and which cell may have it already."""
    target_cell = sa.select(_requests.c.cell_uuid).where(_requests.c.instance_uuid == instance_uuid)
    found = session.execute(target_cell.with_for_update()).one_or_none()
    if found is None or not forget(session, instance_uuid):
        return False, None
    return True, found.cell_uuid


def holds(session: Session, instance_uuid: str, *, owner: str) -> bool:
    """Tell whether this lease holds the wish, and let nobody change that in this transaction."""
    held = sa.select(_requests.c.id).where(
        _requests.c.instance_uuid == instance_uuid, _requests.c.lease_owner == owner
    )
    return session.execute(held.with_for_update()).first() is not None


def get_spec(session: Session, request_uuid: str) -> RequestSpec:
    """Return what the instances of one request need.

    :raises roost.exception.NotFound: when there is no such request
    """
    spec = find_spec(session, request_uuid)
    if spec is None:
        raise exception.NotFound(f"there is no request {request_uuid}")
    return spec


def find_spec(session: Session, request_uuid: str) -> RequestSpec | None:
    text = session.execute(
        sa.select(_specs.c.spec).where(_specs.c.request_uuid == request_uuid)
    ).scalar_one_or_none()
    spec: RequestSpec | None = wire.load(text)
    return spec


def hold_spec(session: Session, request_uuid: str) -> None:
    """Let nobody else forget an instance of this request in this transaction.

    Two that forget the last two at the same time would each see the other's.
    """
    held = sa.select(_specs.c.request_uuid).where(_specs.c.request_uuid == request_uuid)
    session.execute(held.with_for_update())


def forget_spec(session: Session, request_uuid: str) -> None:
    """Delete what a request asked for, unless an instance of it is still mapped."""
    mapped = sa.select(_mappings.c.id).where(_mappings.c.request_uuid == request_uuid)
    session.execute(
        sa.delete(_specs).where(_specs.c.request_uuid == request_uuid, ~mapped.exists())
    )


def pin(session: Session, instance_uuid: str, request_uuid: str, zone: str | None) -> bool:
    """Keep one instance in an availability zone from now on, or in none, and leave its siblings.

    It gets a request of its own, which says what that of all said but for the zone. False: it was
    given another one meanwhile.
    """
    hold_spec(session, request_uuid)
    spec = get_spec(session, request_uuid)
    spec.request_uuid, spec.num_instances = str(uuid.uuid4()), 1
    spec.availability_zone = zone
    session.execute(sa.insert(_specs).values(request_uuid=spec.request_uuid, spec=wire.dump(spec)))
    moved = session.execute(
        sa.update(_mappings)
        .where(_mappings.c.instance_uuid == instance_uuid, _mappings.c.request_uuid == request_uuid)
        .values(request_uuid=spec.request_uuid)
    )
    forget_spec(session, request_uuid if moved.rowcount == 1 else spec.request_uuid)
    return moved.rowcount == 1


def lease(
    session: Session, *, owner: str, seconds: float, instance_uuids: Sequence[str]
) -> list[BuildRequest]:
    """Take those of these wishes that nobody works on, for a while.

    :param owner: names this taking, not only the taker, so it must be new each time
    """
    now = clock.now(session)
    session.execute(
        sa.update(_requests)
        .where(_requests.c.instance_uuid.in_(instance_uuids), _free(now))
        .values(lease_owner=owner, lease_until=now + datetime.timedelta(seconds=seconds))
    )
    rows = session.execute(
        sa.select(_requests)
        .where(_requests.c.instance_uuid.in_(instance_uuids), _requests.c.lease_owner == owner)
        .order_by(_requests.c.id)
    )
    return [row_to_request(row) for row in rows]


def target_cell(session: Session, cells: Mapping[str, str | None], *, owner: str) -> set[str]:
    """Note in which cell each of these wishes is about to be created, as far as the lease holds.

    :param cells: cell by instance; None: no cell can have it
    :returns: the instances of which it is noted
    """
    aimed: set[str] = set()
    for cell_uuid in sorted({*cells.values()}, key=str):
        there = [uuid for uuid, cell in cells.items() if cell == cell_uuid]
        mine = sa.and_(_requests.c.instance_uuid.in_(there), _requests.c.lease_owner == owner)
        session.execute(sa.update(_requests).where(mine).values(cell_uuid=cell_uuid))
        aimed.update(session.scalars(sa.select(_requests.c.instance_uuid).where(mine)))
    return aimed


def list_waiting(
    session: Session, *, older_than: datetime.timedelta, but_not_for: Collection[str] = ()
) -> list[BuildRequest]:
    """Return wishes of some age that nobody works on, those of one request side by side.

    :param but_not_for: cells; wishes that one of these may have are left out
    """
    now = clock.now(session)
    cell = _requests.c.cell_uuid
    rows = session.execute(
        sa.select(_requests)
        .where(_free(now), _requests.c.created_at < now - older_than)
        .where(sa.or_(cell.is_(None), cell.not_in(but_not_for)))
        .order_by(_requests.c.request_uuid, _requests.c.id)
        .limit(1000)
    )
    return [row_to_request(row) for row in rows]


def hand_back(session: Session, owner: str) -> None:
    """End a lease early: somebody else may take its wishes up at once."""
    session.execute(
        sa.update(_requests)
        .where(_requests.c.lease_owner == owner)
        .values(lease_owner=None, lease_until=None)
    )


def list_older_than(session: Session, age: datetime.timedelta) -> list[BuildRequest]:
    """Return wishes that have waited for long, for audits."""
    old = _requests.c.created_at < clock.now(session) - age
    rows = session.execute(sa.select(_requests).where(old))
    return [row_to_request(row) for row in rows]


def row_to_request(row: sa.Row[tuple[object, ...]]) -> BuildRequest:
    """Make the object of a whole row."""
    values = row._mapping  # noqa: SLF001 - SQLAlchemy's public name
    return BuildRequest.of(
        instance=wire.load(values["instance"]), **{name: values[name] for name in _PLAIN}
    )


def _free(now: datetime.datetime) -> sa.ColumnElement[bool]:
    return sa.or_(_requests.c.lease_until.is_(None), _requests.c.lease_until < now)


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
    """What a server tells of its request: the zone that it is pinned to, and the hints."""

    zone: str | None
    hints: Mapping[str, list[str]]


def list_page(
    session: Session, wanted: Wanted, *, after: Sequence[Any] | None = None, limit: int
) -> list[ListedInstance]:
    """Return the first ``limit`` wishes whose instances are wanted, in order.

    In the usual order, by age, no more rows are looked at than it takes to find them; in any other,
    all of the project's, which are few: a wish lives for moments.

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
    """Return, for each of these instances, what its user asked for."""
    mappings, specs = models.instance_mappings, models.request_specs
    rows = session.execute(
        sa.select(mappings.c.instance_uuid, specs.c.spec)
        .join(specs, specs.c.request_uuid == mappings.c.request_uuid)
        .where(mappings.c.instance_uuid.in_(instance_uuids))
    )
    return {row.instance_uuid: _asked(row.spec) for row in rows}


def _asked(spec: str) -> SchedulingDetails:
    """Read what lists tell of a request; making the whole of it would take ten times as long."""
    found = wire.peek(spec, ("availability_zone", "hints"))
    return SchedulingDetails(zone=found.get("availability_zone"), hints=found.get("hints") or {})
