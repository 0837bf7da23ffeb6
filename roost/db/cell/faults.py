"""Instance faults: why instances went to ERROR."""

from collections.abc import Collection
from typing import Final

import sqlalchemy as sa

from roost.db import newest
from roost.db.cell import models
from roost.db.engine import Session
from roost.objects import InstanceFault

KEPT: Final = 10  # of one instance; users are shown the latest
_faults = models.instance_faults


def add(session: Session, fault: InstanceFault) -> None:
    """Add a fault, and delete all but the latest ``KEPT``."""
    session.execute(sa.insert(_faults).values(**fault.values()))
    newest.keep(session, _faults, {"instance_uuid": fault.instance_uuid}, KEPT)


def latest(session: Session, instance_uuids: Collection[str]) -> dict[str, InstanceFault]:
    """Return the newest fault of each of these instances that has one."""
    if not instance_uuids:
        return {}
    last = (
        sa.select(sa.func.max(_faults.c.id))
        .where(_faults.c.instance_uuid.in_(instance_uuids))
        .group_by(_faults.c.instance_uuid)
    )
    rows = session.execute(sa.select(_faults).where(_faults.c.id.in_(last)))
    return {row.instance_uuid: _fault(row) for row in rows}


def _fault(row: sa.Row[tuple[object, ...]]) -> InstanceFault:
    values = row._mapping  # noqa: SLF001 - SQLAlchemy's public name
    return InstanceFault.of(**{name: values[name] for name in InstanceFault.fields})
