"""Images that hosts were to make of servers, and did not: the store is asked to give them up.

Before: the end of their task, or of their server, wrote them down (``db/cell/images.py``). After:
an image without data is gone; one whose data had come is left.
"""

import dataclasses
import logging
import random
from typing import Final

from roost import exception
from roost.context import admin_context
from roost.db.cell import images
from roost.db.engine import Database, retried
from roost.image.driver import ImageStore

LOG = logging.getLogger(__name__)
_AT_ONCE: Final = 100


@dataclasses.dataclass(frozen=True)
class ForsakenImages:
    """Lets the images of a cell go. Any number do this side by side."""

    database: Database
    store: ImageStore

    def sweep(self) -> None:
        """Ask the store to give up each; what it refuses is left to operators, with a word.

        :raises roost.exception.Unavailable: when the store does not answer; then all that are left
            wait for the next sweep
        """
        with self.database.read() as session:
            found = images.list_forsaken(session, limit=_AT_ONCE)
        for image_id in random.sample([*found], len(found)):  # not always the same one first
            self._give_up(image_id, of=found[image_id])
            self._forget(image_id)

    def _give_up(self, image_id: str, *, of: str) -> None:
        try:
            self.store.give_up(admin_context(), image_id)
        except exception.Unavailable:
            raise
        except exception.RoostError as error:
            LOG.warning("%s: its image %s stays without data: %s", of, image_id, error.message)
        else:
            LOG.info("%s: image %s waits no more for its data", of, image_id)

    @retried
    def _forget(self, image_id: str) -> None:
        with self.database.begin() as session:
            images.forget(session, image_id)
