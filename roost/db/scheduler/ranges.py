"""What a snapshot covers: the things whose uuid is in its range."""

from typing import Any

import sqlalchemy as sa

from roost.objects import SnapshotRange


def covered(uuid: sa.ColumnElement[Any], snapshot: SnapshotRange) -> list[sa.ColumnElement[bool]]:
    """Return the conditions that a thing of this uuid is in the range."""
    conditions: list[sa.ColumnElement[bool]] = []
    if snapshot.after is not None:
        conditions.append(uuid > snapshot.after)
    if snapshot.until is not None:
        conditions.append(uuid <= snapshot.until)
    return conditions
