"""Queries and repairs that audits run on a cell's database."""

from collections.abc import Collection
from typing import NamedTuple

import sqlalchemy as sa

from roost.db.cell import models
from roost.db.engine import Session
from roost.db.spans import Which, within
from roost.objects.migration import ENDED

_c = models.instances.c
_moves = models.migrations.c
_ports = models.ports


class LiveRow(NamedTuple):
    """An instance that is not marked as deleted; ``other_host``: it moves from or to that one."""

    uuid: str
    host: str | None
    vm_state: str
    task_state: str | None
    other_host: str | None = None


_SHOWN = (_c.uuid, _c.host, _c.vm_state, _c.task_state)
_OTHER = sa.func.nullif(
    sa.case((_moves.source_host == _c.host, _moves.dest_host), else_=_moves.source_host), _c.host
)


def list_live(session: Session, which: Which) -> list[LiveRow]:
    """Return live instances."""
    unfinished = (_moves.instance_uuid == _c.uuid) & _moves.status.not_in(ENDED)
    query = (
        sa.select(*_SHOWN, _OTHER)
        .join_from(models.instances, models.migrations, unfinished, isouter=True)
        .where(within(_c.uuid, which), _c.deleted_at.is_(None))
    )
    return [LiveRow(*row) for row in session.execute(query)]


def list_on_host(session: Session, host: str) -> list[LiveRow]:
    """Return the live instances of a host."""
    query = sa.select(*_SHOWN).where(_c.host == host, _c.deleted_at.is_(None))
    return [LiveRow(*row) for row in session.execute(query)]


def list_deleted(session: Session, uuids: Collection[str]) -> set[str]:
    """Return those of these instances that the cell has marked as deleted."""
    query = sa.select(_c.uuid).where(_c.uuid.in_(uuids), _c.deleted_at.is_not(None))
    return set(session.scalars(query))


def free_orphan(session: Session, port_id: str) -> bool:
    """Delete a port without a live instance; return whether there was such a port."""
    lives = sa.exists().where(_c.uuid == _ports.c.instance_uuid, _c.deleted_at.is_(None))
    gone = session.execute(sa.delete(_ports).where(_ports.c.id == port_id, ~lives))
    return gone.rowcount == 1
