"""What happens at one moment, for the history of an instance."""

from roost.db.types import utcnow
from roost.objects import InstanceActionEvent


def moment(name: str, *, host: str, result: str, details: str) -> InstanceActionEvent:
    """Return an event that begins and ends now.

    :param host: of the conductor that it happens on
    :param result: ``Success`` or ``Error``
    """
    now = utcnow()
    return InstanceActionEvent(
        event=name, host=host, start_time=now, finish_time=now, result=result, details=details
    )
