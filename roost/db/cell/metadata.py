"""Metadata and tags of instances: changed by compare and swap.

Neither changes ``updated_at``, since steps under way recognise their own changes of the instance by
it.
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
    """The metadata or tags of an instance, as JSON ``text``, and its state when they were read."""

    vm_state: str
    text: str

    @property
    def value(self) -> Any:
        """A dict of strings (metadata), or a list of unique strings (tags)."""
        return json.loads(self.text)


def find(session: Session, uuid: str, kind: Kind) -> Note | None:
    """Return the metadata or tags of a live instance; None: there is no such instance."""
    row = session.execute(
        sa.select(_instances.c.vm_state, _instances.c[kind]).where(*_lives(uuid))
    ).one_or_none()
    return None if row is None else Note(*row)


def swap(session: Session, uuid: str, kind: Kind, *, before: Note, value: Any) -> bool:
    """Replace ``before`` by ``value``; False: another call has changed it, or the state."""
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
    """Store the names of a live instance's security groups, for lists."""
    named = sa.update(_instances).where(*_lives(uuid)).values(security_groups=json.dumps(names))
    session.execute(named)


def _lives(uuid: str) -> list[sa.ColumnElement[bool]]:
    return [_instances.c.uuid == uuid, _instances.c.deleted_at.is_(None)]
