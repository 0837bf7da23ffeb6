"""Pages of wishes not yet placed, in the order of the lists that they are merged into."""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import sqlalchemy as sa

from roost.db import ordering, wire
from roost.db.api import models
from roost.db.api.build_requests import row_to_request
from roost.db.engine import Session
from roost.db.instance_query import Found, Wanted, matches, values_of
from roost.objects import BuildRequest

_requests = models.build_requests
_COLUMNS: Final = {
    "created_at": _requests.c.created_at,
    "uuid": _requests.c.instance_uuid,
    "project_id": _requests.c.project_id,
    "user_id": _requests.c.user_id,
}


@dataclasses.dataclass(frozen=True)
class Asked:
    """What a server tells of its request: the zone that it is pinned to, and the hints."""

    zone: str | None
    hints: Mapping[str, list[str]]


def list_page(
    session: Session, wanted: Wanted, *, after: Sequence[Any] | None = None, limit: int
) -> list[Found]:
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


def _found(request: BuildRequest, wanted: Wanted) -> Found:
    instance = request.instance
    return Found(request.instance_uuid, values_of(instance, wanted.order), lambda: instance)


def _rank(request: BuildRequest, wanted: Wanted) -> ordering.Ranked:
    return ordering.rank(values_of(request.instance, wanted.order), wanted.order)


def asked_for(session: Session, instance_uuids: Sequence[str]) -> dict[str, Asked]:
    """Return, for each of these instances, what its user asked for."""
    mappings, specs = models.instance_mappings, models.request_specs
    rows = session.execute(
        sa.select(mappings.c.instance_uuid, specs.c.spec)
        .join(specs, specs.c.request_uuid == mappings.c.request_uuid)
        .where(mappings.c.instance_uuid.in_(instance_uuids))
    )
    return {row.instance_uuid: _asked(row.spec) for row in rows}


def _asked(spec: str) -> Asked:
    """Read what lists tell of a request; making the whole of it would take ten times as long."""
    found = wire.peek(spec, ("availability_zone", "hints"))
    return Asked(zone=found.get("availability_zone"), hints=found.get("hints") or {})
