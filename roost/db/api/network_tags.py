"""Tags of the networks, subnets and ports that users made: each a column of their rows."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import sqlalchemy as sa

from roost import exception
from roost.db.api import models
from roost.db.engine import Session

OF_NETWORKS: Final = models.networks.c.tags
OF_SUBNETS: Final = models.networks.c.subnet_tags
OF_PORTS: Final = models.made_ports.c.tags
Edit = Callable[[Sequence[str]], Sequence[str]]


def edit(session: Session, column: sa.Column[Any], row_id: str, change: Edit) -> list[str]:
    """Put what ``change`` makes of tags in their place, and return it; nobody else does meanwhile.

    :param row_id: of the network or the port
    :raises roost.exception.NotFound: when it is gone
    """
    mine = column.table.c.id == row_id
    before = session.execute(sa.select(column).where(mine).with_for_update()).one_or_none()
    if before is None:
        raise exception.NotFound(f"{row_id} could not be found.")
    after = sorted(set(change(before[0])))
    session.execute(sa.update(column.table).where(mine).values({column.name: after}))
    return after
