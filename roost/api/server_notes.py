"""Changes what users write on their servers: metadata and tags.

Called by ``server_metadata.py`` and ``server_tags.py``, which say what is changed and how.
"""

import dataclasses
from collections.abc import Callable
from typing import Any, Final

from roost import exception, states
from roost.api.whereabouts import Located, missing
from roost.db.cell import notes
from roost.db.engine import Database, retried

# (what there is, whether an earlier try of ours may have changed it already) -> what shall be
Edit = Callable[[Any, bool], Any]
_TRIES: Final = 100  # each lost one is another request's success


@dataclasses.dataclass(frozen=True)
class Edited:
    """What there is now, and whether this request made it so."""

    value: Any
    changed: bool


def change(located: Located, kind: notes.Kind, edit: Edit, *, doing: str) -> Edited:
    """Edit what a server has of one kind; what others write meanwhile is not lost.

    :param edit: decides by what there is and does nothing else, since it may be called again
    :param doing: what a refusal calls it
    :raises roost.exception.Conflict: when it cannot be done to a server in its state, as to one
        that has no cell yet
    :raises roost.exception.NotFound: when the server is gone
    """
    uuid = str(located.instance.uuid)
    if located.cell is None:
        raise _refused(uuid, located.instance.vm_state, doing)
    database, tried = located.cell.database, list[Any]()
    for _ in range(_TRIES):
        edited = _try(database, uuid, kind, edit, doing=doing, tried=tried)
        if edited is not None:
            return edited
    raise exception.Conflict(f"Too many others change the {kind} of instance {uuid}; try again.")


@retried
def _try(
    database: Database, uuid: str, kind: notes.Kind, edit: Edit, *, doing: str, tried: list[Any]
) -> Edited | None:
    """Read, edit and swap; None when somebody else was faster.

    :param tried: what earlier tries have written, of which nobody knows whether it was committed
    """
    with database.begin() as session:
        before = notes.find(session, uuid, kind)
        if before is None:
            raise missing(uuid)
        if tried and before.value == tried[-1]:
            return Edited(before.value, changed=True)
        if before.vm_state not in states.AS_FOUND.values():
            raise _refused(uuid, before.vm_state, doing)
        after = edit(before.value, bool(tried))
        if after == before.value:
            return Edited(after, changed=bool(tried))
        if not notes.swap(session, uuid, kind, before=before, value=after):
            return None
        tried.append(after)
    return Edited(after, changed=True)


def _refused(uuid: str, vm_state: str, doing: str) -> exception.Conflict:
    return exception.Conflict(
        f"Cannot '{doing}' instance {uuid} while it is in vm_state {vm_state}"
    )
