"""Abandoned images: those whose data no host will upload, until the image store has deleted them.

The transaction that ends an image task records its image here, since the instance's row has the
image only as long as the task. ``conductor/cell/operation_outcomes.py`` deletes them in the store.
"""

from typing import Final

import sqlalchemy as sa

from roost.db import wire
from roost.db.cell import models
from roost.db.engine import Session
from roost.db.insert import insert_once

_instances = models.instances
_forsaken = models.forsaken_images
_QUEUED: Final = "queued"  # status of an image without data, as in roost/image/driver.py


def waiting(session: Session, instance_uuid: str) -> str | None:
    """Return the id of the image that an instance's task is to create; None: it creates none."""
    query = sa.select(_instances.c.task_image).where(_instances.c.uuid == instance_uuid)
    image = wire.load(session.execute(query).scalar_one_or_none())
    return str(image.id) if image is not None and image.status == _QUEUED else None


def forsake(session: Session, instance_uuid: str, image_id: str | None) -> None:
    """Record an image, if there is one, as abandoned: no host will upload its data."""
    if image_id is not None:
        insert_once(session, _forsaken, {"image_id": image_id, "instance_uuid": instance_uuid})


def list_forsaken(session: Session, *, limit: int) -> dict[str, str]:
    """Return abandoned images: the instance's uuid by image id."""
    found = sa.select(_forsaken.c.image_id, _forsaken.c.instance_uuid).limit(limit)
    return {row.image_id: row.instance_uuid for row in session.execute(found)}


def forget(session: Session, image_id: str) -> None:
    """Delete the record of an image: the store has deleted it, or has its data."""
    session.execute(sa.delete(_forsaken).where(_forsaken.c.image_id == image_id))
