"""The index of addresses: which instances have one.

What addresses an instance has says ``network_info`` of its row; whoever writes that writes this, in
one transaction.
"""

import sqlalchemy as sa

from roost.db.cell import models
from roost.db.engine import Session
from roost.db.instance_query import Wanted
from roost.objects import NetworkInfo

_index = models.instance_addresses


def index(session: Session, uuid: str, info: NetworkInfo | None) -> None:
    """Note that an instance has these addresses and no others."""
    session.execute(sa.delete(_index).where(_index.c.instance_uuid == uuid))
    rows = [{"instance_uuid": uuid, "ip": ip, "version": _version(ip)} for ip in _all(info)]
    if rows:
        session.execute(sa.insert(_index), rows)


def conditions(wanted: Wanted) -> list[sa.ColumnElement[bool]]:
    """Return what a row of ``instances`` must meet to have an address of each wanted pattern.

    Where LIKE does not say all of a pattern, :func:`fit` does.
    """
    return [_has(version, pattern.like) for version, pattern in wanted.addresses.items()]


def fit(info: NetworkInfo | None, wanted: Wanted) -> bool:
    """Tell whether there is an address of each wanted pattern."""
    known = _all(info)
    return all(
        any(_version(ip) == version and pattern.fits(ip) for ip in known)
        for version, pattern in wanted.addresses.items()
    )


def _has(version: int, pattern: str) -> sa.ColumnElement[bool]:
    having = sa.select(_index.c.instance_uuid).where(
        _index.c.version == version, _index.c.ip.ilike(pattern, escape="\\")
    )
    return models.instances.c.uuid.in_(having)


def _all(info: NetworkInfo | None) -> list[str]:
    """Return the fixed and the floating addresses of an instance."""
    return sorted({ip for vif in (info.vifs if info else []) for ip, _ in vif.all_ips()})


def _version(ip: str) -> int:
    return 6 if ":" in ip else 4
