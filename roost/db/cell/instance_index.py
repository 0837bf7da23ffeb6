"""The indexes of tags and of addresses, by which lists find instances.

The instance's row has the values; every transaction that writes them updates the index. Tags are
indexed by digests, which are equally long and compare the same in every database: tags are any
text, and collations differ about case and trailing blanks.
"""

import hashlib
from collections.abc import Collection
from typing import Final

import sqlalchemy as sa

from roost.db import prepared
from roost.db.cell import models
from roost.db.engine import Session
from roost.db.instance_query import Wanted
from roost.objects import NetworkInfo

_index = models.instance_addresses
_INDEX: Final = sa.insert(_index)
_INDEXED: Final = sa.select(_index.c.ip).where(_index.c.instance_uuid == sa.bindparam("uuid"))


def index_addresses(session: Session, uuid: str, info: NetworkInfo | None) -> None:
    """Replace the indexed addresses of an instance, if they are others."""
    indexed, now = session.scalars(_INDEXED, {"uuid": uuid}).all(), _all(info)
    if set(indexed) == set(now):
        return
    if indexed:
        prepared.delete(session, _index, {"instance_uuid": uuid})
    rows = [{"instance_uuid": uuid, "ip": ip, "version": _version(ip)} for ip in now]
    if rows:
        session.execute(_INDEX, rows)


def address_conditions(wanted: Wanted) -> list[sa.ColumnElement[bool]]:
    """Return the conditions for rows of ``instances`` with an address of each wanted pattern.

    Where LIKE cannot express all of a pattern, :func:`fit` checks the rest.
    """
    return [_has(version, pattern.like) for version, pattern in wanted.addresses.items()]


def fit(info: NetworkInfo | None, wanted: Wanted) -> bool:
    """Return whether there is an address of each wanted pattern."""
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


_tag_index = models.instance_tags
_Condition = sa.ColumnElement[bool]


def index_tags(session: Session, uuid: str, tags: Collection[str]) -> None:
    """Add tags of an instance to the index."""
    rows = [{"instance_uuid": uuid, "digest": digest} for digest in _digests(tags)]
    if rows:
        session.execute(sa.insert(_tag_index), rows)


def unindex(session: Session, uuid: str, tags: Collection[str]) -> None:
    """Remove tags of an instance from the index."""
    if tags:
        mine = sa.and_(_tag_index.c.instance_uuid == uuid, _tag_index.c.digest.in_(_digests(tags)))
        session.execute(sa.delete(_tag_index).where(mine))


def tag_conditions(wanted: Wanted) -> list[_Condition]:
    """Return the conditions for rows of ``instances`` with the wanted tags and without the others.

    Required tags select rows through the index; forbidden ones are checked for each row. One
    subquery suffices for any number of tags.
    """
    must = {tag for group in wanted.tags if len(group) == 1 for tag in group}
    must_not = {tag for group in wanted.not_tags if len(group) == 1 for tag in group}
    found = [_has_all(must)] if must else []
    found += [_has_any(group) for group in wanted.tags if len(group) > 1]
    found += [_misses_all(must_not)] if must_not else []
    found += [_misses_any(set(group)) for group in wanted.not_tags if len(group) > 1]
    return found


def _has_all(tags: Collection[str]) -> _Condition:
    if len(tags) == 1:
        return _has_any(tags)
    each = _having(tags).group_by(_tag_index.c.instance_uuid)
    return models.instances.c.uuid.in_(each.having(sa.func.count() == len(tags)))


def _has_any(tags: Collection[str]) -> _Condition:
    return models.instances.c.uuid.in_(_having(tags))


def _misses_all(tags: Collection[str]) -> _Condition:
    return ~_having(tags).where(_is_mine()).exists()


def _misses_any(tags: Collection[str]) -> _Condition:
    mine = sa.select(sa.func.count()).where(_tag_index.c.digest.in_(_digests(tags)), _is_mine())
    return mine.scalar_subquery() < len(tags)


def _having(tags: Collection[str]) -> sa.Select[tuple[str]]:
    return sa.select(_tag_index.c.instance_uuid).where(_tag_index.c.digest.in_(_digests(tags)))


def _is_mine() -> _Condition:
    return _tag_index.c.instance_uuid == models.instances.c.uuid


def _digests(tags: Collection[str]) -> list[str]:
    return sorted({hashlib.sha256(tag.encode()).hexdigest()[:32] for tag in tags})
