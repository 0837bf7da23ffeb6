"""The end of an instance in its cell: everything that it holds there, in one place."""

from collections.abc import Sequence

from roost.db.cell import actions, builds, images, instances, ports
from roost.db.engine import Session
from roost.objects import InstanceActionEvent


def bury(session: Session, instance_uuid: str, events: Sequence[InstanceActionEvent]) -> bool:
    """Free its ports, end its build and its action, mark its row; tell whether it still lived.

    An image that was to be made of it is forsaken.
    """
    ports.free(session, instance_uuid)
    builds.end(session, instance_uuid)
    image_id = images.waiting(session, instance_uuid)
    if not instances.bury(session, instance_uuid):
        return False
    images.forsake(session, instance_uuid, image_id)
    actions.add_events(session, instance_uuid, events, finish=True)
    return True
