"""The cell's identity in its own database: written once, when the cell is mapped."""

from typing import Final

import sqlalchemy as sa

from roost import exception
from roost.db.cell import models
from roost.db.engine import Session

_identity = models.identity
_WHO: Final = sa.select(_identity)  # built once: every heartbeat runs it


def get_identity(session: Session) -> tuple[str, str] | None:
    """Return (uuid, name) of the cell; None: not mapped yet."""
    row = session.execute(_WHO).one_or_none()
    return None if row is None else (row.cell_uuid, row.cell_name)


def get(session: Session) -> tuple[str, str]:
    """Return (uuid, name) of the cell.

    :raises roost.exception.Unavailable: while the cell is not mapped
    """
    known = get_identity(session)
    if known is None:
        raise exception.Unavailable(
            "this cell's database belongs to no cell yet: run roost-manage cell create"
        )
    return known


def set_identity(session: Session, *, cell_uuid: str, cell_name: str) -> None:
    """Make this the database of a cell; the same again changes its name.

    :raises roost.exception.Conflict: when it is another cell's
    """
    known = get_identity(session)
    if known is None:
        session.execute(sa.insert(_identity).values(id=1, cell_uuid=cell_uuid, cell_name=cell_name))
    elif known[0] != cell_uuid:
        raise exception.Conflict(f"this database belongs to the cell {known[1]!r} ({known[0]})")
    else:
        session.execute(sa.update(_identity).values(cell_name=cell_name))
