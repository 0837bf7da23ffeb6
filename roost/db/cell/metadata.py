"""What users write on instances, metadata and tags: changed by comparing and swapping.

Neither is a change of the instance itself: ``updated_at`` stays, so steps under way that know their
own changes by it are not misled.
"""

import dataclasses
import json
from collections.abc import Sequence
from typing import Any, Final, Literal

import sqlalchemy as sa

from roost.db.cell import instance_index, models
from roost.db.engine import Session

Kind = Literal["metadata", "tags"]
METADATA: Final[Kind] = "metadata"
TAGS: Final[Kind] = "tags"
_instances = models.instances


@dataclasses.dataclass(frozen=True)
class Note:
    """What an instance has of one kind, as ``text`` in its row, and the state it was in then."""

    vm_state: str
    text: str

    @property
    def value(self) -> Any:
        """A dict of strings (metadata), or a list of them without doubles (tags)."""
        return json.loads(self.text)


def find(session: Session, uuid: str, kind: Kind) -> Note | None:
    """Return what an instance that lives has; None: there is none."""
    row = session.execute(
        sa.select(_instances.c.vm_state, _instances.c[kind]).where(*_lives(uuid))
    ).one_or_none()
    return None if row is None else Note(*row)


def swap(session: Session, uuid: str, kind: Kind, *, before: Note, value: Any) -> bool:
    """Write ``value`` in the place of ``before``; False: that, or the state, is not so any more."""
    done = session.execute(
        sa.update(_instances)
        .where(
            *_lives(uuid),
            _instances.c.vm_state == before.vm_state,
            _instances.c[kind] == before.text,
        )
        .values({kind: json.dumps(value)})
    )
    if done.rowcount != 1:
        return False
    if kind == TAGS:
        instance_index.unindex(session, uuid, set(before.value).difference(value))
        instance_index.index_tags(session, uuid, set(value).difference(before.value))
    return True


def save_groups(session: Session, uuid: str, names: Sequence[str]) -> None:
    """Let an instance that lives tell its security groups, which are kept elsewhere."""
    told = sa.update(_instances).where(*_lives(uuid)).values(security_groups=json.dumps(names))
    session.execute(told)


def _lives(uuid: str) -> list[sa.ColumnElement[bool]]:
    return [_instances.c.uuid == uuid, _instances.c.deleted_at.is_(None)]
