"""Pins: a server that was created in an availability zone stays there, until it is unpinned.

The pin is the zone of the server's request. A server may be pinned anew only where it is.
"""

from roost import exception
from roost.api.whereabouts import missing
from roost.db.api import build_requests, instance_mappings
from roost.db.engine import Database, retried
from roost.objects import Instance


@retried
def move(database: Database, instance: Instance, zone: str | None) -> None:
    """Pin a server to the zone that it is in, or to none.

    :raises roost.exception.Conflict: for another zone, or while it is pinned to another one
    """
    uuid = str(instance.uuid)
    with database.begin() as session:
        mapping = instance_mappings.find(session, uuid)
        if mapping is None:
            raise missing(uuid)
        pinned = build_requests.get_spec(session, mapping.request_uuid).availability_zone
        if pinned == zone:
            return
        _check(instance, pinned, zone)
        if not build_requests.pin(session, uuid, mapping.request_uuid, zone):
            raise exception.Conflict(f"Instance {uuid} was pinned or unpinned this moment")


def _check(instance: Instance, pinned: str | None, zone: str | None) -> None:
    if zone is None:
        return
    if pinned is not None:
        raise exception.Conflict(
            f"Instance {instance.uuid} is pinned to the availability zone {pinned}: unpin it first."
        )
    if zone != instance.availability_zone:
        raise exception.Conflict(
            f"Instance {instance.uuid} is not in the availability zone {zone}: it can only be"
            " pinned to the one that it is in."
        )
