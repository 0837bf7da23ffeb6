"""How many items of metadata one server may have."""

from collections.abc import Mapping

from roost import exception
from roost.db.api import quota
from roost.db.engine import Session

_RESOURCE = "metadata_items"


def read(session: Session, project_id: str, *, defaults: Mapping[str, int]) -> int:
    """Return the limit of a project; -1: none."""
    return quota.limits(session, project_id, defaults)[_RESOURCE]


def check(metadata: Mapping[str, str], *, most: int) -> None:
    """Make sure that a server may have all of this.

    :raises roost.exception.QuotaExceeded: when it may not
    """
    if 0 <= most < len(metadata):
        raise exception.QuotaExceeded(
            f"Maximum number of metadata items exceeds {most}",
            resources=[_RESOURCE],
            asked={_RESOURCE: len(metadata)},
            limits={_RESOURCE: most},
        )
