"""Changes the password of a server's administrator, which is told to its host and kept nowhere."""

from typing import Final

from roost import states
from roost.api import server_tasks
from roost.api.call import Answer, Call
from roost.api.whereabouts import Located

_WORD: Final = "changePassword"


def change(call: Call, located: Located) -> Answer:
    """Write down that it is to be changed, and tell the host what it is to be.

    :raises roost.exception.Conflict: when that cannot be done to a server in its state
    """
    task = states.UPDATING_PASSWORD
    instance = server_tasks.put_under(call, located, word=_WORD, task=task)
    server_tasks.do(call, located, instance, password=call.body[_WORD]["adminPass"])
    return Answer()
