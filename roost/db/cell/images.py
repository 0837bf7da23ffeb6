"""Abandoned images: those whose data no host will upload, until the image store has deleted them.

The transaction that ends an operation records its image here, since the operation's row goes with
it. ``conductor/cell/operation_outcomes.py`` deletes them in the store.
"""

from typing import Final

import sqlalchemy as sa

from roost.db.cell import models
from roost.db.engine import Session
from roost.db.insert import insert_once

_forsaken = models.forsaken_images
QUEUED: Final = "queued"  # status of an image without data, as in roost/image/driver.py


def forsake(session: Session, instance_uuid: str, image_id: str) -> None:
    """Record an image as abandoned: no host will upload its data."""
    insert_once(session, _forsaken, {"image_id": image_id, "instance_uuid": instance_uuid})


def list_forsaken(session: Session, *, limit: int) -> dict[str, str]:
    """Return abandoned images: the instance's uuid by image id."""
    found = sa.select(_forsaken.c.image_id, _forsaken.c.instance_uuid).limit(limit)
    return {row.image_id: row.instance_uuid for row in session.execute(found)}


def forget(session: Session, image_id: str) -> None:
    """Delete the record of an image: the store has deleted it, or has its data."""
    session.execute(sa.delete(_forsaken).where(_forsaken.c.image_id == image_id))
