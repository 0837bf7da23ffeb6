"""Images of servers whose data will not come any more, until the image store has given them up.

Whoever ends a task that was to make an image writes that down in the same transaction, since nobody
knows of the image once the task is gone from its row. ``conductor/cell/task_outcomes.py`` asks the
store.
"""

from typing import Final

import sqlalchemy as sa

from roost.db import wire
from roost.db.cell import models
from roost.db.engine import Session
from roost.db.insert import insert_once

_instances = models.instances
_forsaken = models.forsaken_images
_QUEUED: Final = "queued"  # what roost/image/driver.py calls one without data


def waiting(session: Session, instance_uuid: str) -> str | None:
    """Return the id of the image that a task is to make of an instance; None: it makes none."""
    query = sa.select(_instances.c.task_image).where(_instances.c.uuid == instance_uuid)
    image = wire.load(session.execute(query).scalar_one_or_none())
    return str(image.id) if image is not None and image.status == _QUEUED else None


def forsake(session: Session, instance_uuid: str, image_id: str | None) -> None:
    """Write down that nobody will send the data of an image, if there is one."""
    if image_id is not None:
        insert_once(session, _forsaken, {"image_id": image_id, "instance_uuid": instance_uuid})


def list_forsaken(session: Session, *, limit: int) -> dict[str, str]:
    """Return ids of images, with that of the instance that each was to be of."""
    found = sa.select(_forsaken.c.image_id, _forsaken.c.instance_uuid).limit(limit)
    return {row.image_id: row.instance_uuid for row in session.execute(found)}


def forget(session: Session, image_id: str) -> None:
    """The store has given it up, or has its data."""
    session.execute(sa.delete(_forsaken).where(_forsaken.c.image_id == image_id))
