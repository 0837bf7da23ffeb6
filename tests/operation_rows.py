"""Rows of operations that are under way, as the API writes them."""

import sqlalchemy as sa

from roost.conductor.cell.operations.reports import StepReport
from roost.db import wire
from roost.db.cell import actions, deletion, models
from roost.db.types import utcnow
from roost.objects import InstanceAction, Operation, OperationParams
from roost.operations.advance import Outcome
from roost.operations.kinds import OF_TASK
from tests.builders import NOW, a_uuid


def put_under(session, instance, *, image=None, request_id="req-1", **values):
    """Give an instance the operation of its task state, with its action; return its uuid."""
    kind = OF_TASK[instance.task_state]
    row = {
        "uuid": a_uuid(),
        "instance_uuid": instance.uuid,
        "kind": kind.name,
        "lock": kind.lock,
        "host": instance.host,
        "step": kind.steps[0].name,
        "params": wire.dump(OperationParams.of(image=image)),
        "request_id": request_id,
        "attempt": instance.attempt if kind.builds else 1,
        "tries": 0,
        "created_at": utcnow(),
    } | values
    session.execute(sa.insert(models.operations).values(**row))
    actions.start(
        session, _record(instance.uuid, kind.action, request_id), operation_uuid=row["uuid"]
    )
    return row["uuid"]


def a_build(instance, **changes):
    """Return the operation of a build as messages name it, on the host of its instance."""
    names = {"uuid": instance.uuid, "instance_uuid": instance.uuid, "kind": "build"}
    names |= {"host": instance.host, "step": "build", "attempt": instance.attempt}
    return Operation.of(**names | changes)


def begin_delete(database, instance_uuid):
    """Begin to delete a server, as its user asks for it; return the operation on its host.

    None: it is on no host.
    """
    record = _record(instance_uuid, "delete", "req-delete")
    with database.begin() as session:
        return next(iter(deletion.begin(session, record, uuid=a_uuid())), None)


def a_report(found, *, outcome=None, **more):
    """Return a host's report of a guest after a step, which failed if there is a reason."""
    usual = Outcome.DONE if found.reason is None else Outcome.FAILED
    return StepReport(found, outcome or usual, **more)


def _record(instance_uuid, action, request_id):
    return InstanceAction(
        instance_uuid=instance_uuid,
        action=action,
        request_id=request_id,
        user_id="user",
        project_id="project",
        start_time=NOW,
        finish_time=None,
        message=None,
        events=[],
    )
