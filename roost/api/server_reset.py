"""An administrator declares a server to be active or in error, and any task on it to be over.

It changes what the row says and nothing else. The task that was under way loses its lease with it:
its host finds the row without the task and leaves it alone, and no sweep takes it up any more. An
image that was being made of the server will get no data, and goes. A
server that is declared active though its guest is stopped is stopped again as soon as its host
compares the two; one in error is left as it is until somebody reboots or deletes it. What is being
built or deleted, or is put away, is not to be declared anything: conductors see to the end of all.
"""

from roost import exception, states
from roost.api.call import Answer, Call
from roost.api.whereabouts import Located, missing
from roost.cells import Cell
from roost.db.cell import actions, faults, images, instances
from roost.db.engine import Session, retried
from roost.db.types import utcnow
from roost.objects import Instance, InstanceFault

_WHY = "An administrator has reset the state of the server."


def reset(call: Call, located: Located) -> Answer:
    """Let the row say so.

    :raises roost.exception.Conflict: while it is built or deleted, or for an active one on no host
    """
    instance, cell = located.instance, located.cell
    vm_state = call.body["os-resetState"]["state"]
    if cell is None:
        raise _refused(instance)
    if instance.host is None and vm_state == states.ACTIVE:
        raise exception.Conflict(f"Instance {instance.uuid} is not ready")
    _write(cell, str(instance.uuid), vm_state)
    return Answer()


@retried
def _write(cell: Cell, uuid: str, vm_state: str) -> None:
    with cell.database.begin() as session:
        try:
            found = instances.get(session, uuid)
        except exception.NotFound as error:
            raise missing(uuid) from error
        image_id = images.waiting(session, uuid)
        _move(session, found, vm_state)
        images.forsake(session, uuid, image_id)
        if found.task_state is not None:
            actions.add_events(session, uuid, [], finish=True, message=_WHY)
        if vm_state == states.ERROR != found.vm_state:
            faults.add(session, _fault(uuid))


def _move(session: Session, found: Instance, vm_state: str) -> None:
    """Change the row if nobody else has since it was read."""
    changes = {"vm_state": vm_state, "task_state": None}
    expected = {"vm_state": found.vm_state, "task_state": found.task_state}
    try:
        instances.update(session, found.uuid, changes, expected=expected, moves=states.RESETS)
    except exception.Conflict as error:
        raise _refused(found) from error


def _refused(found: Instance) -> exception.Conflict:
    state = f"vm_state {found.vm_state}"
    if found.vm_state != states.BUILDING and found.task_state is not None:
        state = f"task_state {found.task_state}"
    return exception.Conflict(f"Cannot 'reset' instance {found.uuid} while it is in {state}")


def _fault(uuid: str) -> InstanceFault:
    return InstanceFault(
        instance_uuid=uuid, code=500, message=_WHY, details=None, host=None, created_at=utcnow()
    )
