"""Hosts of instances by their rows: for hosts that check their guests, and for operators."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, Final

import sqlalchemy as sa

from roost.db import wire
from roost.db.cell import left_behind, migrations, models
from roost.db.engine import Session
from roost.objects import Flavor, ImageMeta, InstanceLocation
from roost.objects.host import DELETED, ELSEWHERE, HERE, LEFT, MOVING, NOWHERE, UNKNOWN

_c = models.instances.c
_AT_ONCE: Final = 1000  # rows that one statement names
_COLUMNS: Final[Sequence[sa.Column[Any]]] = (
    *(_c.uuid, _c.host, _c.attempt, _c.vm_state, _c.task_state, _c.power_state),
    *(_c.launched_at, _c.deleted_at),
)


def look(
    session: Session, host: str, instance_uuids: Collection[str], *, and_others_here: bool
) -> list[InstanceLocation]:
    """Return the locations of these instances, relative to a host.

    :param and_others_here: return all other instances of that host, too
    """
    found = {row.uuid: _seen_from(host, row) for row in _named(session, instance_uuids)}
    for uuid in instance_uuids:
        found.setdefault(uuid, InstanceLocation.of(instance_uuid=uuid, presence=UNKNOWN))
    if and_others_here:
        here = sa.select(*_COLUMNS).where(_c.host == host, _c.deleted_at.is_(None))
        found |= {row.uuid: _seen_from(host, row) for row in session.execute(here)}
    away = {uuid for uuid, one in found.items() if one.presence in (ELSEWHERE, NOWHERE)}
    if away:
        moving, left = migrations.on_host(session, host), left_behind.proven(session, host)
        for uuid in away.intersection({*moving, *left}):
            found[uuid].presence = MOVING if uuid in moving else LEFT
    return list(found.values())


def names_on(session: Session, hosts: Collection[str]) -> dict[str, list[tuple[str, str]]]:
    """Return (uuid, name) of the instances of hosts, by host, in order of creation."""
    found: dict[str, list[tuple[str, str]]] = {host: [] for host in hosts}
    wanted = list(found)
    for start in range(0, len(wanted), _AT_ONCE):
        some = _c.host.in_(wanted[start : start + _AT_ONCE])
        query = sa.select(_c.host, _c.uuid, _c.display_name).where(some, _c.deleted_at.is_(None))
        for host, uuid, name in session.execute(query.order_by(_c.id)):
            found[host].append((uuid, name))
    return found


def sizes_on(session: Session, host: str) -> list[tuple[str, Flavor, ImageMeta | None]]:
    """Return (project, flavor, image) of the instances of a host, in order of creation."""
    query = sa.select(_c.project_id, _c.flavor, _c.image)
    rows = session.execute(query.where(_c.host == host, _c.deleted_at.is_(None)).order_by(_c.id))
    return [
        (row.project_id, wire.load_shared(row.flavor), wire.load_shared(row.image)) for row in rows
    ]


def _named(session: Session, uuids: Collection[str]) -> Iterator[sa.Row[Any]]:
    wanted = list(uuids)
    for start in range(0, len(wanted), _AT_ONCE):
        some = _c.uuid.in_(wanted[start : start + _AT_ONCE])
        yield from session.execute(sa.select(*_COLUMNS).where(some))


def _seen_from(host: str, row: sa.Row[Any]) -> InstanceLocation:
    return InstanceLocation.of(
        instance_uuid=row.uuid,
        presence=_presence(host, row),
        host=row.host,
        attempt=row.attempt,
        vm_state=row.vm_state,
        task_state=row.task_state,
        power_state=row.power_state,
        launched=row.launched_at is not None,
    )


def _presence(host: str, row: sa.Row[Any]) -> str:
    if row.deleted_at is not None:
        return DELETED
    if row.host is None:
        return NOWHERE
    return HERE if row.host == host else ELSEWHERE
