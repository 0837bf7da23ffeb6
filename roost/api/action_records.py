"""What the history of a server says of what somebody asks for here."""

from roost.api.call import Call
from roost.db.types import utcnow
from roost.objects import InstanceAction


def begun(call: Call, instance_uuid: str, word: str) -> InstanceAction:
    """Return the record of an action whose end somebody else will write down."""
    return InstanceAction(
        instance_uuid=instance_uuid,
        action=word,
        request_id=call.context.request_id,
        user_id=call.context.user_id,
        project_id=call.context.project_id,
        start_time=utcnow(),
        finish_time=None,
        message=None,
        events=[],
    )


def done(call: Call, instance_uuid: str, word: str) -> InstanceAction:
    """Return the record of an action that is over with the transaction that records it."""
    record = begun(call, instance_uuid, word)
    record.finish_time = record.start_time
    return record
