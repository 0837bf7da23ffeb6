"""What projects may have of the networks, subnets and ports of the local driver.

What there is, is counted when more is asked for, under the lock of the project's quota: so it is
exact, and cannot drift. Ports are those that users made, and those of servers.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

import sqlalchemy as sa

from roost.db.api import models, quota, server_ports
from roost.db.engine import Session

NETWORKS: Final = "networks"
SUBNETS: Final = "subnets"
PORTS: Final = "ports"
_networks = models.networks
_ports = models.made_ports


def usage(
    session: Session, project_id: str, names: Collection[str] = (NETWORKS, SUBNETS, PORTS)
) -> dict[str, int]:
    """Return what a project has of each, counted now."""
    mine = _networks.c.project_id == project_id
    made = sa.select(sa.func.count()).where(_ports.c.project_id == project_id)
    counts: dict[str, sa.Select[Any]] = {
        NETWORKS: sa.select(sa.func.count()).where(mine),
        SUBNETS: sa.select(sa.func.count(_networks.c.cidr)).where(mine),
        PORTS: sa.select(made.scalar_subquery() + server_ports.count(project_id)),
    }
    return {name: int(session.execute(counts[name]).scalar_one()) for name in names}


def check(session: Session, project_id: str, defaults: Mapping[str, int], **asked: int) -> None:
    """Look whether a project may have so much more; until the end nobody else takes any.

    :param defaults: limits of who has none of their own; -1: no limit
    :raises roost.exception.QuotaExceeded: when it may not
    """
    quota.lock(session, project_id)
    quota.check(session, project_id, defaults, count=usage, asked=asked)


def port_room(session: Session, project_id: str, *, limit: int, most: int) -> int:
    """Return how many ports more a project may have, ``most`` at most; its quota must be held.

    :param limit: of the project, and -1: none
    """
    if limit < 0:
        return most
    has = usage(session, project_id, [PORTS])[PORTS]
    return max(0, min(most, limit - has))
