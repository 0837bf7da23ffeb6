"""How many items of metadata one server may have."""

from collections.abc import Mapping

from roost import exception
from roost.db.api import quota
from roost.db.engine import Session
from roost.objects import Instance

_RESOURCE = "metadata_items"


def read(session: Session, instance: Instance, *, defaults: Mapping[str, int]) -> int:
    """Return the limit of a server's project and user; -1: none."""
    whose = {"project_id": str(instance.project_id), "user_id": str(instance.user_id)}
    return quota.bounds(session, defaults=defaults, **whose)[_RESOURCE]


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
