"""The index of tags: which instances have one.

What tags an instance has says its row; whoever writes that writes this, in one transaction. Digests
stand for the tags, because they are as long as each other and mean the same to every database:
tags are any text, and collations differ about case and about blanks at the end.
"""

import hashlib
from collections.abc import Collection

import sqlalchemy as sa

from roost.db.cell import models
from roost.db.engine import Session
from roost.db.instance_query import Wanted

_index = models.instance_tags
_Condition = sa.ColumnElement[bool]


def index(session: Session, uuid: str, tags: Collection[str]) -> None:
    """Note that an instance has these tags, too."""
    rows = [{"instance_uuid": uuid, "digest": digest} for digest in _digests(tags)]
    if rows:
        session.execute(sa.insert(_index), rows)


def unindex(session: Session, uuid: str, tags: Collection[str]) -> None:
    """Note that an instance has these tags no more."""
    if tags:
        mine = sa.and_(_index.c.instance_uuid == uuid, _index.c.digest.in_(_digests(tags)))
        session.execute(sa.delete(_index).where(mine))


def conditions(wanted: Wanted) -> list[_Condition]:
    """Return what a row of ``instances`` must meet to have the wanted tags, and not the others.

    Tags that must be there are looked for in the index, so that it may serve; of those that must be
    missing each row is asked. One subquery does for any number of tags.
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
    each = _having(tags).group_by(_index.c.instance_uuid)
    return models.instances.c.uuid.in_(each.having(sa.func.count() == len(tags)))


def _has_any(tags: Collection[str]) -> _Condition:
    return models.instances.c.uuid.in_(_having(tags))


def _misses_all(tags: Collection[str]) -> _Condition:
    return ~_having(tags).where(_is_mine()).exists()


def _misses_any(tags: Collection[str]) -> _Condition:
    mine = sa.select(sa.func.count()).where(_index.c.digest.in_(_digests(tags)), _is_mine())
    return mine.scalar_subquery() < len(tags)


def _having(tags: Collection[str]) -> sa.Select[tuple[str]]:
    return sa.select(_index.c.instance_uuid).where(_index.c.digest.in_(_digests(tags)))


def _is_mine() -> _Condition:
    return _index.c.instance_uuid == models.instances.c.uuid


def _digests(tags: Collection[str]) -> list[str]:
    return sorted({hashlib.sha256(tag.encode()).hexdigest()[:32] for tag in tags})
